"""Editions of the price book: what was priced keeps its price until it is priced again, on purpose."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Prices, Settings
from warehouse.reprice import reprice
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, agent, in_trace, llm, spans

NOON_NS = START_NS + 3_600 * NS_PER_S
LATER_NS = START_NS + 86_400 * NS_PER_S
SINCE_NS = START_NS + 1_000 * NS_PER_S
MICRO = Decimal("0.000001")
MORNING = {"from": date(2026, 1, 1), "input_usd_per_mtok": 1}
AFTERNOON = {"from": to_datetime(NOON_NS), "input_usd_per_mtok": 5}

Costs = Mapping[str, Decimal | None]


class Told(NamedTuple):
    """What was seen, in this order: priced, price file edited and late spans there, shown, written, again."""

    priced: Costs
    edited: Costs
    shown: list[dict[str, Any]]
    after_showing: Costs
    written: list[dict[str, Any]]
    repriced: Costs
    shown_again: list[dict[str, Any]]
    tasks: int
    broken: list[str]


def trace(digit: str, *rows: dict[str, Any]) -> list[dict[str, Any]]:
    return in_trace(digit * 32, list(rows))


def call(name: str, start_s: float, model: str = "m", **columns: Any) -> dict[str, Any]:
    return llm(name, start_s, start_s + 1, tokens=(1, 0), model_requested=model, **columns)


FIRST = [
    *trace(
        "1",
        agent("run", 3_000, 4_000),
        call("11:59", 3_599, parent="run"),
        call("12:01", 3_601, parent="run"),
    ),
    *trace("2", call("moved", 2_000)),
    *trace("3", call("its new task", 1_900)),
    *trace(
        "4", agent("old", 990, 1_010), call("too early", 999, parent="old"), call("in", 1_000, parent="old")
    ),
    *trace("5", call("no price yet", 2_000, "new")),
    *trace("6", call("price goes", 2_000, "going")),
]
LATE = [
    *trace("1", call("late", 3_500, parent="run")),
    *trace("2", agent("link", 1_950, 2_100, task_links=["3" * 32])),
]


def write(file: Path, *rows: dict[str, Any]) -> None:
    tokens = [{"model": "m", "output_usd_per_mtok": 0, **row} for row in rows]
    file.write_text(yaml.safe_dump({"tokens": tokens}), encoding="utf-8")


def costs(warehouse: Store) -> Costs:
    """Read what each call cost, in millionths of a USD."""
    return dict(
        warehouse.sql("select name, (token_cost_usd * 1000000)::decimal(18, 6) from steps where counted")
    )


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("reprice")
    file = folder / "prices.yaml"
    write(file, MORNING, AFTERNOON, {**MORNING, "model": "going"})
    with store(folder / "data", Settings(prices=Prices(file=file))) as warehouse:

        def again(*, keep: bool) -> list[dict[str, Any]]:
            return reprice(
                warehouse.connection, warehouse.settings, warehouse.clock,
                since_ns=SINCE_NS, until_ns=LATER_NS, write=keep,
            ).to_pylist()  # fmt: skip

        warehouse.load(spans(*FIRST))
        warehouse.refresh(LATER_NS)
        priced = costs(warehouse)
        write(
            file,
            {**MORNING, "input_usd_per_mtok": 2, "source": "mended"},
            AFTERNOON,
            {**MORNING, "model": "new"},
        )
        warehouse.load(spans(*LATE))
        warehouse.refresh(LATER_NS + NS_PER_S)
        edited = costs(warehouse)
        shown = again(keep=False)
        after_showing = costs(warehouse)
        written = again(keep=True)
        return Told(
            priced, edited, shown, after_showing, written, costs(warehouse), again(keep=False),
            warehouse.sql("select count(*) from tasks")[0][0], warehouse.check_laws(),
        )  # fmt: skip


def test_each_call_has_the_price_of_its_own_minute(told: Told) -> None:
    """With one price to noon and another from noon on, 11:59 has the first and 12:01 the second."""
    assert (told.priced["11:59"], told.priced["12:01"]) == (1, 5)


def test_an_edited_price_changes_nothing_that_was_priced(told: Told) -> None:
    """Whatever an edit, a removed row or a late span of the same task does, priced steps keep their price."""
    assert {name: told.edited[name] for name, usd in told.priced.items() if usd is not None} == {
        name: usd for name, usd in told.priced.items() if usd is not None
    }


def test_a_late_span_has_the_newest_price(told: Told) -> None:
    """A span that arrives after an edit is priced by the file as it is then."""
    assert told.edited["late"] == 2


def test_a_task_that_joins_another_keeps_the_prices_of_its_steps(told: Told) -> None:
    """A link that moves a step into another task does not price it again."""
    assert told.tasks == 5
    assert (told.edited["moved"], told.edited["its new task"]) == (1, 1)


def test_a_first_price_needs_no_reprice(told: Told) -> None:
    """What had no price is priced as soon as there is one, though none of its spans is new."""
    assert (told.priced["no price yet"], told.edited["no price yet"]) == (None, 1)


def test_reprice_shows_before_it_writes(told: Told) -> None:
    """Without the word to write all figures stay; with it exactly the shown difference comes, and only once."""
    assert told.after_showing == told.edited
    assert told.shown == told.written
    assert told.shown_again == []
    assert told.broken == []


def test_reprice_tells_old_and_new_money_per_model(told: Told) -> None:
    """Each model and source has its old and new money; a price that went makes it unknown, never 0."""
    assert [
        (row["model"], row["steps"], row["old_cost_usd"], row["new_cost_usd"], row["difference_usd"],
         row["new_unknown_costs"], row["new_price_source"])
        for row in told.shown
    ] == [
        ("going", 1, MICRO, None, None, 1, None),
        ("m", 4, 4 * MICRO, 8 * MICRO, 4 * MICRO, 0, "mended"),
    ]  # fmt: skip


def test_reprice_changes_only_its_range(told: Told) -> None:
    """Steps that start before since keep their price, also within a task that is priced again."""
    assert (told.repriced["too early"], told.repriced["in"]) == (1, 2)
    assert (told.repriced["11:59"], told.repriced["12:01"], told.repriced["price goes"]) == (2, 5, None)
