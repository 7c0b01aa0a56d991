"""The rules against the real warehouse: samples in, refresh, reports, alert."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from alerts.deliver import deliver_due
from alerts.look import observe
from alerts.notification import Notification
from alerts.rule import LoadedRule, load_rules
from alerts.store import AlertStore
from alerts.testing import START_NS
from alerts.watch import Watch
from planner.scale_down import scale_down
from taximeter.clock import NS_PER_S, ManualClock
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.rows import SAMPLES
from warehouse.testing import Store, store

UUIDS = ("GPU-0", "GPU-1")
SETTINGS = Settings(
    deployments=[
        Deployment(
            name="qwen",
            gpus=Gpus(
                sku="H100-SXM",
                count=2,
                usd_per_gpu_hour=Decimal("3.99"),
                price_source="contract 2026-11",
                uuids=list(UUIDS),
            ),
        )
    ]
)


def _samples(utils: dict[str, Sequence[float]], first_ns: int, step_s: int = 1) -> pa.Table:
    """One sample every step of utilization and memory per card."""
    rows = [
        {
            "tenant": "default",
            "host": "box",
            "gpu_uuid": uuid,
            "bus_id": uuid[-1],
            "gpu_name": "NVIDIA H100 80GB HBM3",
            "source": "nvml",
            "metric": metric,
            "t_ns": first_ns + number * step_s * NS_PER_S,
            "value": value,
            "simulated": False,
        }
        for uuid, values in utils.items()
        for number, util in enumerate(values)
        for metric, value in (("util_ratio", util), ("memory_used_mib", 70_000.0), ("processes", 1.0))
    ]
    return pa.Table.from_pylist(rows, schema=SAMPLES)


class Kept:
    """A channel that keeps what it was given."""

    def __init__(self) -> None:
        self.told: list[Notification] = []

    def send(self, notification: Notification) -> None:
        self.told.append(notification)


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[Store]:
    """An empty warehouse that knows one deployment of two priced cards."""
    with store(tmp_path / "data", SETTINGS) as opened:
        yield opened


def _rules(name: str) -> list[LoadedRule]:
    return [
        loaded
        for loaded in load_rules(None, {"idle_after_s": 60.0, "busy_ratio": 0.05})
        if loaded.rule.name == name
    ]


def _observed(warehouse: Store, name: str, now_ns: int) -> Any:
    loaded = _rules(name)[0]
    return observe(loaded, warehouse.report(loaded.rule.report, **loaded.rule.params), now_ns)


def test_idle_by_samples_fires_for_the_right_cards(warehouse: Store) -> None:
    """A card that did nothing for 70 s is told, one that is busy and one that rests for 30 s are not."""
    utils = {"GPU-0": [0.9] * 20 + [0.0] * 70, "GPU-1": [0.9] * 60 + [0.0] * 30}
    warehouse.load({"samples": _samples(utils, START_NS)})
    now_ns = START_NS + 90 * NS_PER_S
    warehouse.refresh(now_ns)

    observation = _observed(warehouse, "gpu_idle", now_ns)

    group = observation.groups[(("deployment", "qwen"),)]
    assert (group.bad, group.good) == ({"box/GPU-0/0"}, set())
    assert [(row["gpu_id"], row["idle_s"]) for row in group.rows] == [("box/GPU-0/0", 70.0)]
    assert [row["usd_per_hour"] for row in group.rows] == [Decimal("3.99")]


def test_from_samples_to_message_and_back(warehouse: Store, tmp_path: Path) -> None:
    """Idle cards of the real ledger are told once with their real price; work resolves them once."""
    clock = ManualClock(START_NS + 90 * NS_PER_S)
    outbox = AlertStore(tmp_path / "alerts.sqlite")
    channel = Kept()
    watch = Watch(
        _rules("gpu_idle"), warehouse, outbox, clock, channels=["a"], dashboard_url="http://127.0.0.1:8501"
    )
    for utils in ([0.9] * 10 + [0.0] * 80, [0.8] * 10, [0.8] * 10):
        warehouse.load(
            {"samples": _samples(dict.fromkeys(UUIDS, utils), clock.now_ns() - len(utils) * NS_PER_S)}
        )
        warehouse.refresh(clock.now_ns())
        assert watch.look() == []
        deliver_due(outbox, {"a": channel}, clock)
        clock.sleep(10)
    outbox.close()

    assert [one.kind for one in channel.told] == ["firing", "resolved"]
    assert channel.told[0].title == "2 idle GPUs of qwen: $7.98 an hour"
    assert "contract 2026-11" in channel.told[0].text
    assert channel.told[0].advice is not None
    assert channel.told[0].advice.startswith("No scale-down advice: ")


def test_a_card_that_a_whole_day_never_needed_can_go(tmp_path: Path) -> None:
    """Of two cards sampled for 25 hours one worked and one rested: one replica less saves its month."""
    minutes = 25 * 60
    now_ns = START_NS + minutes * 60 * NS_PER_S
    settings = SETTINGS.model_copy(
        update={"warehouse": SETTINGS.warehouse.model_copy(update={"sample_interval_s": 60.0})}
    )
    with store(tmp_path / "data", settings) as warehouse:
        utils = {"GPU-0": [0.9] * minutes, "GPU-1": [0.0] * minutes}
        warehouse.load({"samples": _samples(utils, START_NS, step_s=60)})
        warehouse.refresh(now_ns)

        advice = scale_down(warehouse, "qwen", now_ns)

    assert (advice.replicas, advice.most_needed, advice.never_needed) == (2, 1, 1)
    assert advice.usd_per_month == Decimal("3.99") * 730
    assert advice.sentence.startswith("Scale qwen from 2 to 1 replica:")


def test_health_rules_read_the_real_health_report(warehouse: Store) -> None:
    """Every built-in rule finds its columns in the warehouse's own reports."""
    warehouse.load({"samples": _samples({"GPU-0": [0.0, 0.0]}, START_NS)})
    warehouse.refresh(START_NS + NS_PER_S)

    for loaded in load_rules(None, {"idle_after_s": 60.0, "busy_ratio": 0.05}):
        table = warehouse.report(loaded.rule.report, **loaded.rule.params)
        observe(loaded, table, START_NS)
