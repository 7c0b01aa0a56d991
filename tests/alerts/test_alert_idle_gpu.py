"""Rule one from report to receiver: an idle GPU fires once, resolves once, and says what it costs."""

import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from alerts.channels.slack import SlackChannel
from alerts.channels.webhook import WebhookChannel
from alerts.deliver import deliver_due
from alerts.rule import load_rules
from alerts.store import AlertStore
from alerts.testing import START_NS, Receiver, Tables
from alerts.watch import Watch
from taximeter.clock import ManualClock

Make = Callable[..., pa.Table]


class House:
    """The rule, a warehouse of tables, a store, and a webhook and a Slack channel of one receiver."""

    def __init__(self, folder: Path, receiver: Receiver, tables: dict[str, pa.Table]) -> None:
        self.clock = ManualClock(START_NS)
        self.reports = Tables(tables)
        self.store = AlertStore(folder / "alerts.sqlite")
        self.receiver = receiver
        self.channels = {
            "hook": WebhookChannel(f"{receiver.url}/hook", "s", self.clock, allow_private=True),
            "slack": SlackChannel(f"{receiver.url}/slack", allow_private=True),
        }
        rules = [
            rule
            for rule in load_rules(None, {"idle_after_s": 60.0, "busy_ratio": 0.05})
            if rule.rule.name == "gpu_idle"
        ]
        self.watch = Watch(
            rules,
            self.reports,
            self.store,
            self.clock,
            channels=list(self.channels),
            dashboard_url="http://127.0.0.1:8501/",
        )

    def look(self, gpus_now: pa.Table | None = None) -> list[str]:
        if gpus_now is not None:
            self.reports.tables["gpus_now"] = gpus_now
        failures = self.watch.look()
        deliver_due(self.store, self.channels, self.clock)
        self.clock.sleep(10)
        return failures

    def hooks(self) -> list[dict[str, Any]]:
        return [json.loads(request.body) for request in self.receiver.received if request.path == "/hook"]


@pytest.fixture
def house(tmp_path: Path, receiver: Receiver, replica_need: Make) -> Any:
    """A house whose last day needed two of four replicas."""
    made = House(tmp_path, receiver, {"replica_need": replica_need()})
    yield made
    made.store.close()


def test_an_idle_gpu_is_told_once_and_resolved_once(house: House, gpus_now: Make) -> None:
    """However often it is looked at, webhook and Slack hear of one idle time once, and of its end once."""
    for idle_s in (50.0, 60.0, 70.0, 80.0, 90.0, 0.0, 0.0, 10.0):
        assert house.look(gpus_now({"box/GPU-a/0": idle_s}, house.clock.now_ns())) == []

    assert [(body["kind"], body["labels"]) for body in house.hooks()] == [
        ("firing", {"deployment": "qwen-coder"}),
        ("resolved", {"deployment": "qwen-coder"}),
    ]
    assert len([request for request in house.receiver.received if request.path == "/slack"]) == 2


def test_the_message_says_cost_time_and_what_to_do(house: House, gpus_now: Make) -> None:
    """Two idle cards cost twice the price; the advice is the planner's, the link leads to the page."""
    house.look(gpus_now({"box/GPU-a/0": 75.0, "box/GPU-b/1": 61.0, "box/GPU-c/2": 0.0}))

    body = house.hooks()[0]
    assert body["title"] == "2 idle GPUs of qwen-coder: $7.98 an hour"
    assert "Idle for up to 1.2 min: box/GPU-a/0, box/GPU-b/1 (NVIDIA H100)" in body["text"]
    assert "$7.98 an hour" in body["text"]
    assert "price source: contract 2026-11" in body["text"]
    assert body["advice"].startswith("Scale qwen-coder from 4 to 2 replicas")
    assert "$11,650.80 a month" in body["advice"]
    assert body["link"] == "http://127.0.0.1:8501/gpus?deployment=qwen-coder&since=24h"
    assert body["simulated"] is False


def test_an_unknown_price_is_called_unknown(house: House, gpus_now: Make) -> None:
    """Without a price no figure is shown, and a part without one is never added as zero."""
    house.look(gpus_now({"a": 75.0}, usd_per_hour=None, price_source=None))

    body = house.hooks()[0]
    assert body["title"] == "1 idle GPU of qwen-coder: price unknown"
    assert "$" not in body["title"] + body["text"]


def test_partly_unknown_prices_are_a_lower_bound(house: House, gpus_now: Make) -> None:
    """One card with a price and one without cost at least the price."""
    table = pa.concat_tables(
        [gpus_now({"a": 75.0}), gpus_now({"b": 75.0}, usd_per_hour=None, price_source=None)]
    )

    house.look(table)

    assert house.hooks()[0]["title"] == (
        "2 idle GPUs of qwen-coder: at least $3.99 an hour (price unknown for 1 of 2)"
    )


def test_every_deployment_has_its_own_alert(house: House, gpus_now: Make) -> None:
    """Cards are grouped by deployment; cards of none are told as such, and get no advice."""
    table = pa.concat_tables(
        [gpus_now({"a": 75.0}), gpus_now({"b": 90.0}, deployment=None, usd_per_hour=Decimal("2.5"))]
    )

    house.look(table)

    bodies = {body["labels"]["deployment"]: body for body in house.hooks()}
    assert bodies["qwen-coder"]["title"] == "1 idle GPU of qwen-coder: $3.99 an hour"
    assert bodies[None]["title"] == "1 idle GPU of no deployment: $2.50 an hour"
    assert "belong to no deployment" in bodies[None]["advice"]
    assert bodies[None]["link"].endswith("/gpus?deployment=&since=24h")


def test_simulated_cards_are_called_simulated_to_the_end(house: House, gpus_now: Make) -> None:
    """The firing and the resolved message both say so."""
    house.look(gpus_now({"a": 75.0}, simulated=True))
    house.look(gpus_now({"a": 0.0}, house.clock.now_ns(), simulated=True))

    assert [body["simulated"] for body in house.hooks()] == [True, True]


def test_old_samples_prove_nothing(house: House, gpus_now: Make) -> None:
    """A card whose samples stopped neither fires nor, once firing, resolves."""
    old = gpus_now({"a": 75.0}, START_NS - 600 * 10**9)
    house.look(old)
    assert house.hooks() == []

    house.look(gpus_now({"a": 75.0}, house.clock.now_ns()))
    house.look(old)
    house.look(gpus_now({}))
    assert [body["kind"] for body in house.hooks()] == ["firing"]


def test_a_warehouse_that_does_not_answer_changes_nothing(house: House, gpus_now: Make) -> None:
    """The failure is told, the alert is held, and when the answer comes back it goes on."""
    house.look(gpus_now({"a": 75.0}))
    del house.reports.tables["gpus_now"]
    assert house.look() == ["gpu_idle: there is no report gpus_now"]

    house.look(gpus_now({"a": 0.0}, house.clock.now_ns()))

    assert [body["kind"] for body in house.hooks()] == ["firing", "resolved"]


def test_an_advice_that_cannot_be_had_does_not_stop_the_alert(house: House, gpus_now: Make) -> None:
    """The message goes out and says why it recommends nothing."""
    del house.reports.tables["replica_need"]
    house.look(gpus_now({"a": 75.0}))

    assert house.hooks()[0]["advice"] == "No advice: there is no report replica_need"


def test_a_report_without_a_column_is_told_as_such(house: House, gpus_now: Make) -> None:
    """A rule and a report that do not fit are a failure of the rule, not a silence."""
    failures = house.look(gpus_now({"a": 75.0}).drop_columns(["idle_s"]))

    assert failures == ["gpu_idle: rule gpu_idle: the report gpus_now has no column idle_s"]


def test_a_names_signs_are_quoted_in_the_link(house: House, gpus_now: Make) -> None:
    """A deployment's name cannot add parameters to the address."""
    house.look(gpus_now({"a": 75.0}, deployment="a&since=all#x y"))

    assert house.hooks()[0]["link"].endswith("/gpus?deployment=a%26since%3Dall%23x%20y&since=24h")


def test_a_rule_is_looked_at_no_more_often_than_it_says(
    tmp_path: Path, receiver: Receiver, gpus_now: Make
) -> None:
    """With `every: 25s` and looks each 10 s it is asked at 0, 30 and 60 s; equal questions are asked once."""
    house = House(tmp_path, receiver, {"gpus_now": gpus_now({"a": 0.0})})
    loaded = load_rules(None, {"idle_after_s": 60.0, "busy_ratio": 0.05})[0]
    rules = [
        loaded._replace(rule=loaded.rule.model_copy(update={"name": name, "every_s": 25.0})) for name in "ab"
    ]
    house.watch = Watch(rules, house.reports, house.store, house.clock, channels=[], dashboard_url="http://x")

    for _ in range(7):
        house.look()
    house.store.close()

    assert [name for name, _ in house.reports.asked] == ["gpus_now"] * 3
