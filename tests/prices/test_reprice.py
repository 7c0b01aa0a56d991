"""Editions of the price book: what was priced keeps its price until it is priced again, on purpose."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Deployment, Gpus, Hold, Prices, Settings
from warehouse.reprice import reprice
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, agent, in_trace, llm, spans

NOON_NS = START_NS + 3_600 * NS_PER_S
LATER_NS = START_NS + 86_400 * NS_PER_S
SINCE_NS = START_NS + 1_000 * NS_PER_S
MICRO = Decimal("0.000001")
MORNING = {"from": date(2026, 1, 1), "input_usd_per_mtok": 1}
AFTERNOON = {"from": to_datetime(NOON_NS), "input_usd_per_mtok": 5}

HELD = Hold.model_validate({"from": to_datetime(START_NS), "to": to_datetime(START_NS + 4_600 * NS_PER_S)})
OWN = Deployment(name="own", models=["own/*"], gpus=Gpus(sku="CARD", count=1, held=[HELD]))

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
    bills: list[Decimal]  # priced, edited, after showing, repriced


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
# Which of two equal rows wins must be no accident: many models make an accident show.
KEPT = [f"kept {number}" for number in range(6)]
# The first instant of all is 14:13:20.
PARTS = [
    *trace("7", *(call(f"{second} s", second, "hours") for second in (399, 400, 939, 940))),
    *trace("8", *(call(f"night {second} s", second, "nights") for second in (399, 400, 939, 940))),
    *trace(
        "9", *(llm(f"{size} tokens", 9, 10, tokens=(size, 0), model_requested="sizes") for size in (2, 3))
    ),
]
PART_PRICES = [
    {**MORNING, "model": "hours"},
    {**MORNING, "model": "hours", "input_usd_per_mtok": 10, "day_from": "14:20", "day_to": "14:29"},
    {**MORNING, "model": "nights"},
    {**MORNING, "model": "nights", "input_usd_per_mtok": 10, "day_from": "14:29", "day_to": "14:20"},
    {**MORNING, "model": "sizes"},
    {**MORNING, "model": "sizes", "input_usd_per_mtok": 10, "prompt_from_tokens": 3},
]
LATE = [
    *trace("1", call("late", 3_500, parent="run")),
    *trace("a", agent("late root", 400, 900)),
    *trace("2", agent("link", 1_950, 2_100, task_links=["3" * 32])),
]


def kept(usd: int) -> list[dict[str, Any]]:
    return [{**MORNING, "model": model, "input_usd_per_mtok": usd} for model in KEPT]


def write(file: Path, card_usd: int, *rows: dict[str, Any]) -> None:
    tokens = [{"model": "m", "output_usd_per_mtok": 0, **row} for row in rows]
    card = {"sku": "CARD", "from": date(2026, 1, 1), "usd_per_gpu_hour": card_usd}
    file.write_text(yaml.safe_dump({"tokens": tokens, "gpus": [card]}), encoding="utf-8")


def bill(warehouse: Store) -> Decimal:
    """Read what the one card cost, in millionths of a USD."""
    usd: Decimal = warehouse.sql("select sum(cost_usd) from gpu_ledger")[0][0]
    return round(usd / MICRO)


def costs(warehouse: Store) -> Costs:
    """Read what each call cost, in millionths of a USD."""
    return dict(
        warehouse.sql("select name, (token_cost_usd * 1000000)::decimal(18, 6) from steps where counted")
    )


@pytest.fixture(name="told", scope="module")
def _told(tmp_path_factory: pytest.TempPathFactory) -> Told:
    folder = tmp_path_factory.mktemp("reprice")
    file = folder / "prices.yaml"
    write(file, 1, MORNING, AFTERNOON, {**MORNING, "model": "going"}, *PART_PRICES, *kept(1))
    with store(folder / "data", Settings(prices=Prices(file=file), deployments=[OWN])) as warehouse:

        def again(*, keep: bool) -> list[dict[str, Any]]:
            return reprice(
                warehouse.connection, warehouse.settings, warehouse.clock,
                since_ns=SINCE_NS, until_ns=LATER_NS, write=keep,
            ).to_pylist()  # fmt: skip

        warehouse.load(spans(*FIRST, *PARTS, *trace("a", *(call(model, 500, model) for model in KEPT))))
        warehouse.refresh(LATER_NS)
        priced = costs(warehouse)
        bills = [bill(warehouse)]
        write(
            file,
            4,
            {**MORNING, "input_usd_per_mtok": 2, "source": "mended"},
            AFTERNOON,
            {**MORNING, "model": "new"},
            *kept(2),
        )
        warehouse.load(spans(*LATE))
        warehouse.refresh(LATER_NS + NS_PER_S)
        edited = costs(warehouse)
        bills.append(bill(warehouse))
        shown = again(keep=False)
        after_showing = costs(warehouse)
        bills.append(bill(warehouse))
        written = again(keep=True)
        bills.append(bill(warehouse))
        return Told(
            priced, edited, shown, after_showing, written, costs(warehouse), again(keep=False),
            warehouse.sql("select count(*) from tasks")[0][0], warehouse.check_laws(), bills,
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
    assert told.tasks == 9
    assert (told.edited["moved"], told.edited["its new task"]) == (1, 1)


def test_a_first_price_needs_no_reprice(told: Told) -> None:
    """What had no price is priced as soon as there is one, though none of its spans is new."""
    assert (told.priced["no price yet"], told.edited["no price yet"]) == (None, 1)


def test_reprice_shows_before_it_writes(told: Told) -> None:
    """Not told to write, all figures stay; told to, exactly the shown difference comes, and only once."""
    assert told.after_showing == told.edited
    assert told.shown == told.written
    assert told.shown_again == []
    assert told.broken == []


def test_reprice_tells_old_and_new_money_per_model(told: Told) -> None:
    """Each model and source has its old and new money; a price that went makes it unknown, never 0."""
    assert [
        (row["priced"], row["changed_rows"], row["old_cost_usd"], row["new_cost_usd"], row["difference_usd"],
         row["new_unknown_costs"], row["new_price_source"])
        for row in told.shown
        if row["paid_by"] == "tokens"
    ] == [
        ("going", 1, MICRO, None, None, 1, None),
        ("m", 4, 4 * MICRO, 8 * MICRO, 4 * MICRO, 0, "mended"),
    ]  # fmt: skip


def test_reprice_changes_only_its_range(told: Told) -> None:
    """Steps that start before since keep their price, also within a task that is priced again."""
    assert (told.repriced["too early"], told.repriced["in"]) == (1, 2)
    assert (told.repriced["11:59"], told.repriced["12:01"], told.repriced["price goes"]) == (2, 5, None)


def test_a_gpu_keeps_the_price_of_its_past(told: Told) -> None:
    """A changed price of a card leaves its bill alone; repriced, the 3,600 s in the range cost 4 an hour."""
    before, after = round(Decimal(4_600_000_000) / 3_600), round(Decimal(1_000_000_000) / 3_600) + 4_000_000

    assert told.bills == [before, before, before, after]
    (card,) = (row for row in told.shown if row["paid_by"] == "gpu")
    assert (card["priced"], card["deployment"], round(card["difference_usd"], 6)) == ("CARD", "own", 3)


def test_a_row_holds_for_its_part_of_the_day(told: Told) -> None:
    """A part of the day is half-open, wins over the row for all day, and may run over midnight."""
    assert [told.priced[f"{second} s"] for second in (399, 400, 939, 940)] == [1, 10, 10, 1]
    assert [told.priced[f"night {second} s"] for second in (399, 400, 939, 940)] == [10, 1, 1, 10]


def test_a_tier_prices_the_whole_prompt(told: Told) -> None:
    """From its first token on a tier prices all tokens of the prompt, not only those above."""
    assert (told.priced["2 tokens"], told.priced["3 tokens"]) == (2, 30)
