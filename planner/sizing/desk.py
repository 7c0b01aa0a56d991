"""What `taximeter plan size` asks for: one table of figures, each with where it comes from."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from planner.advice.load import Load, Terms, read_load
from planner.desk import Door
from planner.sizing.cards import BreakEven, break_even, measure_burst
from planner.sizing.narrow import measure_narrow
from planner.sizing.turns import burst_tasks, measure_turns
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.settings import Settings
from warehouse.formats import find_format

_SCHEMA = pa.schema(
    [
        ("topic", pa.string()),  # turns, tasks, burst, cold_start, small_model
        ("about", pa.string()),
        ("figure", pa.string()),
        ("value", pa.float64()),
        ("usd", pa.decimal128(38, 12)),
        ("unit", pa.string()),
        ("provenance", pa.string()),
        ("note", pa.string()),
    ]
)


def size(
    settings: Settings,
    *,
    since: str | None = None,
    until: str | None = None,
    terms: Terms = Terms(),  # noqa: B008 - immutable
    url: str | None = None,
    output: str = "table",
    clock: Clock = SYSTEM_CLOCK,
) -> bytes:
    """Size a recorded load and write it.

    Raises:
        TaximeterError: nothing is recorded, or the warehouse does not answer.
    """
    load = read_load(
        Door(settings, url), settings, since=since, until=until, now_ns=clock.now_ns(), terms=terms
    )
    table = size_table(load)
    if output == "table":  # what is unknown without a reason has no line on a terminal
        told = (pc.field("provenance") != "unknown") | pc.field("note").is_valid()
        table = table.filter(told)
    return find_format(output).write(table)


def size_table(load: Load) -> pa.Table:
    """Give one row per figure. Money is of a month of 730 hours."""
    rows = [*_turns(load), *_tasks(load), *_fleets(load), *_small(load)]
    return pa.Table.from_pylist(rows, _SCHEMA)


def _row(
    topic: str, about: str | None, figure: str, value: float | None, unit: str, **more: Any
) -> dict[str, Any]:
    base = {"topic": topic, "about": about, "figure": figure, "value": value, "unit": unit}
    is_known = value is not None or more.get("usd") is not None
    return base | {"provenance": "measured" if is_known else "unknown"} | more


def _turns(load: Load) -> list[dict[str, Any]]:
    rows = []
    for turn in measure_turns(load.calls):
        about = turn.task_type or "no type"
        rows.append(_row("turns", about, "tasks", turn.tasks, "tasks"))
        for place, name in enumerate(("p50", "p95", "p99")):
            rows += [
                _row("turns", about, f"rounds_{name}", turn.rounds[place], "rounds"),
                _row(
                    "turns",
                    about,
                    f"budget_{name}",
                    turn.budget_s[place],
                    "s",
                    note="rounds times the median round" if turn.budget_s[place] is not None else None,
                ),
                _row("turns", about, f"turn_{name}", turn.turn_s[place], "s"),
            ]
        rows += [
            _row("turns", about, "round_p50", turn.round_p50_s, "s"),
            _row("turns", about, "round_p95", turn.round_p95_s, "s"),
        ]
    return rows


def _tasks(load: Load) -> list[dict[str, Any]]:
    if not load.calls:
        return []
    most, usual = burst_tasks(load.calls)
    return [
        _row("tasks", "all", "at_once_p99", usual, "tasks", note="of the time in which any ran"),
        _row("tasks", "all", "at_once_peak", most, "tasks"),
    ]


def _fleets(load: Load) -> list[dict[str, Any]]:
    rows = []
    for one in load.deployments:
        if one.case is None:
            rows.append(_row("burst", one.name, "cards_peak", None, "cards", note=one.reason))
            continue
        burst = measure_burst(one.case)
        told = f"c = {burst.concurrency} calls a replica, {burst.gpus_per_replica} cards each"
        rows += [
            _row("burst", one.name, "in_flight_mean", burst.in_flight_mean, "calls"),
            _row("burst", one.name, "in_flight_p99", burst.in_flight_p99, "calls"),
            _row("burst", one.name, "in_flight_peak", burst.in_flight_peak, "calls"),
            _row("burst", one.name, "cards_mean", burst.cards_mean, "cards", note=told),
            _row("burst", one.name, "cards_p99", burst.cards_p99, "cards", note=told),
            _row("burst", one.name, "cards_peak", burst.cards_peak, "cards", note=told),
            _row("burst", one.name, "replicas_held", burst.replicas_held, "replicas"),
            *_cold(one.name, break_even(one.case), one.notes),
        ]
    return rows


def _cold(name: str, found: BreakEven, notes: tuple[str, ...]) -> list[dict[str, Any]]:
    own = next((note for note in notes if note.startswith("cold start")), "as given")
    verdict = "pays" if found.pays else "does not pay"
    simulated = {"provenance": "simulated"}
    none = "no cold start, however short, does"
    return [
        _row(
            "cold_start",
            name,
            "longest_that_costs_no_more",
            found.cost_s,
            "s",
            note=none if found.cost_s is None else "or longer" if found.is_cost_open else None,
            **(simulated if found.cost_s is not None else {}),
        ),
        _row(
            "cold_start",
            name,
            "longest_that_keeps_the_slo",
            found.slo_s,
            "s",
            note=none if found.slo_s is None else "or longer" if found.is_slo_open else None,
            **(simulated if found.slo_s is not None else {}),
        ),
        _row(
            "cold_start",
            name,
            "own",
            found.own_s,
            "s",
            note=f"{own}: releasing idle replicas {verdict}",
            provenance="assumed" if "assumed" in own else "measured",
        ),
    ]


def _small(load: Load) -> list[dict[str, Any]]:
    share, steps = measure_narrow(load)
    if not share.calls:
        return []
    month = load.window.month
    rows = [
        _row("small_model", "all model calls", "narrow", share.narrow_ratio, "ratio"),
        _row("small_model", "all model calls", "cost", None, "USD a month", usd=month(share.cost_usd)),
        _row("small_model", "all model calls", "saving", None, "USD a month", usd=month(share.saving_usd)),
    ]
    rows += [
        _row(
            "small_model",
            step.title,
            "narrow_calls",
            step.calls,
            "calls",
            usd=month(step.saving_usd),
            note=step.signal,
        )
        for step in steps
    ]
    return rows
