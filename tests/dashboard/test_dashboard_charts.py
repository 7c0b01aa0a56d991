"""Pictures as pure functions: rows in, traces out."""

from datetime import datetime, timedelta
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.charts.money import FACTORS, by_cause, factor, idle_bars, multiplier, waterfall
from dashboard.charts.states import joined, mostly, state_stack, state_strips
from dashboard.charts.trajectory import broken_line, lanes, trajectory
from dashboard.figures import gpu_names
from dashboard.palette import colour
from dashboard.testing_day import GPUS, MULTIPLIER, START, canned
from dashboard.wall import Wall

UTC_WALL = Wall("UTC", timedelta())
Row = dict[str, Any]


def rows(name: str) -> list[Row]:
    found: list[Row] = canned()[name].to_pylist()
    return found


def test_the_waterfall_climbs_from_one_call_to_the_total() -> None:
    """Each bar begins where the one before it ended; the last is their sum."""
    bars = waterfall(rows("multipliers")).data

    levels = [(bar.base[0], round(bar.x[0], 2)) for bar in bars]
    assert levels == [(0, 0.2), (0.2, 0.2), (0.4, 0.4), (0.8, 0.2), (1.0, 1.0), (0, 2.0)]
    assert bars[-1].text[0] == "$2.00"


def test_the_multiplier_is_the_product_of_its_factors() -> None:
    """2.00 x 2.00 x 1.25 x 2.00 is what 2.00 USD are over 0.20 USD."""
    assert multiplier(rows("multipliers")) == pytest.approx(MULTIPLIER)


@pytest.mark.parametrize("missing", FACTORS[:1] + FACTORS[-1:])
def test_one_unknown_factor_makes_the_multiplier_unknown(missing: str) -> None:
    """An unknown factor is never taken for 1."""
    found = [row | {"factor_ratio": None} if row["bucket"] == missing else row for row in rows("multipliers")]

    assert multiplier(found) is None


def test_without_a_single_pass_there_is_no_multiplier() -> None:
    """Tasks without an answer have none."""
    assert multiplier([]) is None
    assert multiplier([row for row in rows("multipliers") if row["bucket"] in FACTORS]) is None


def test_idle_bars_put_the_dearest_on_top_and_never_draw_the_unknown() -> None:
    """Bars are sorted by money; a cause without a known cost has no length and tells its time instead."""
    bars = idle_bars(rows("idle_waste")).data

    assert [bar.name for bar in bars] == ["unknown", "tool_wait", "no_task", "spare"]  # drawn from below
    assert [bar.x[0] for bar in bars] == [0, 1.0, 2.5, 3.0]
    assert bars[0].text[0] == "– (15.0 min)"
    assert bars[3].marker.color == colour("states", "spare")


@given(st.lists(st.one_of(st.none(), st.decimals(0, 1000, places=6)), min_size=1, max_size=8))
def test_a_cause_is_unknown_only_where_no_row_is_known(costs: list[Decimal | None]) -> None:
    """Sums over rows keep every known cent and never turn unknown into zero."""
    total, _ = by_cause([{"cause": "spare", "cost_usd": cost, "gpu_s": 1.0} for cost in costs])["spare"]

    known = [cost for cost in costs if cost is not None]
    assert total == (sum(known, Decimal(0)) if known else None)


def test_states_stack_to_the_time_held() -> None:
    """In each quarter-hour the bars sum to the GPU-hours that were held."""
    figure = state_stack(rows("gpu_ledger"), UTC_WALL, None)

    held: dict[datetime, float] = {}
    for bar in figure.data:
        for quarter, hours in zip(bar.x, bar.y, strict=True):
            held[quarter] = held.get(quarter, 0) + hours
    assert held == pytest.approx({START: 0.5, START + timedelta(minutes=15): 0.5})


def test_unknown_time_is_hatched() -> None:
    """What nobody knows never looks like a state."""
    bars = {bar.name: bar for bar in state_stack(rows("gpu_ledger"), UTC_WALL, None).data}

    assert bars["unknown"].marker.pattern.shape == "/"
    assert bars["serving"].marker.pattern.shape == ""


def test_stretches_cut_at_quarter_hours_are_drawn_whole() -> None:
    """Touching stretches of one GPU that say the same are one bar; the time is the same."""
    timeline = rows("gpu_timeline")
    whole = joined(timeline)

    assert len(whole) == len(timeline) - 1
    assert sum(((row["ended_at"] - row["started_at"]) for row in whole), timedelta()) == sum(
        ((row["ended_at"] - row["started_at"]) for row in timeline), timedelta()
    )


def test_a_long_range_shows_the_main_state_of_each_quarter_hour() -> None:
    """Of a quarter-hour the state that took most of it is drawn."""
    found = {(row["gpu_id"], row["started_at"]): row["state"] for row in mostly(rows("gpu_ledger"))}

    later = START + timedelta(minutes=15)
    assert found == {
        (GPUS[0], START): "serving",
        (GPUS[1], START): "spare",
        (GPUS[0], later): "no_task",
        (GPUS[1], later): "unknown",
    }


def test_strips_are_coloured_by_state_and_tell_the_cause() -> None:
    """A wait for a tool has its own colour and names the tool."""
    timeline = rows("gpu_timeline")
    bars = {bar.name: bar for bar in state_strips(timeline, UTC_WALL, gpu_names(timeline), None).data}

    wait = bars["waiting for a tool"]
    assert wait.marker.color == colour("states", "tool_wait")
    assert wait.base[0] == START + timedelta(seconds=60)
    assert wait.x[0] == 240_000  # milliseconds, as a date axis takes lengths
    assert wait.customdata[0][0] == " (run_tests)"


def test_steps_that_run_at_once_get_lanes_of_their_own() -> None:
    """No step hides another: within a lane no two overlap."""
    at = {"agent": "coder", "thread": None, "kind": "tool", "duration_s": 10.0}
    steps = [at | {"step_id": str(i), "started_at": START + timedelta(seconds=4 * i)} for i in range(5)]

    placed = lanes(steps)

    assert len({lane for lane, _ in placed}) == 3
    by_lane: dict[str, list[datetime]] = {}
    for lane, step in placed:
        by_lane.setdefault(lane, []).append(step["started_at"])
    assert all(
        later - earlier >= timedelta(seconds=10)
        for starts in by_lane.values()
        for earlier, later in pairwise(starts)
    )


def test_each_thread_of_an_agent_has_its_line_and_tools_stand_by_their_agent() -> None:
    """Sub-agents of one name are told apart in the order in which they began."""
    threads = [("boss", "t0"), ("helper", "t1"), ("helper", "t2"), ("helper", None), (None, None)]
    steps = [
        {
            "step_id": str(i),
            "agent": agent,
            "thread": thread,
            "kind": "llm" if thread else "tool",
            "started_at": START + timedelta(seconds=i),
            "duration_s": 0.5,
        }
        for i, (agent, thread) in enumerate(threads)
    ]

    names = [lane for lane, _ in lanes(steps)]

    assert names == [
        "boss · model call",
        "helper · model call",
        "helper 2 · model call",
        "helper · tool",
        "not named · tool",
    ]


def test_a_gap_of_samples_is_not_drawn_through() -> None:
    """Where the sampler was away the line breaks; it never claims what nobody measured."""
    line = broken_line(rows("gpu_series"), UTC_WALL)

    breaks = [at for at, percent in line if percent is None]
    assert breaks == [START + timedelta(seconds=410), START + timedelta(seconds=490)]


def test_one_sample_is_a_line_of_one_point() -> None:
    """A single sample has no usual distance and no gap."""
    assert broken_line(rows("gpu_series")[:1], UTC_WALL) == [(START + timedelta(seconds=10), 90.0)]


def test_failures_and_retries_are_marked() -> None:
    """A failed step and another try are seen without hovering."""
    steps = [step for step in rows("task_steps") if step["counted"]]
    figure = trajectory(steps, [], [], UTC_WALL, {})
    traces = {trace.name: trace for trace in figure.data}

    assert len(traces["failed"].x) == 1
    assert len(traces["retry"].x) == 1
    assert list(traces["model call"].marker.pattern.shape) == ["", "", "/", ""]


def test_a_task_without_gpus_has_only_its_steps() -> None:
    """No empty axes stand for GPUs that are not there."""
    figure = trajectory(rows("task_steps"), [], [], UTC_WALL, {})

    assert {trace.xaxis for trace in figure.data} == {"x"}


def test_a_task_without_steps_is_drawn_empty() -> None:
    """Nothing to draw is no error."""
    assert len(trajectory([], [], [], UTC_WALL, {}).data) == 0


def test_a_step_of_no_length_can_still_be_seen() -> None:
    """Zero-length steps are drawn a sliver wide."""
    step = rows("task_steps")[0] | {"step_id": "x", "duration_s": 0.0}
    bars = trajectory([*rows("task_steps"), step], [], [], UTC_WALL, {}).data[0]

    assert min(bars.x) > 0


def test_pictures_are_on_the_wall_clock() -> None:
    """A visitor in India sees Indian time."""
    wall = Wall("Asia/Kolkata", timedelta(hours=5, minutes=30))
    figure = state_stack(rows("gpu_ledger"), wall, None)

    assert min(figure.data[0].x) >= START + timedelta(hours=5, minutes=30)
    assert "Asia/Kolkata, UTC+05:30" in figure.layout.xaxis.title.text


def test_gpus_are_named_by_replica_and_host() -> None:
    """A name is short and tells cards of one replica apart."""
    names = gpu_names(rows("gpu_timeline"))

    assert names == {GPUS[0]: "qwen-coder r0 · aaaa0001", GPUS[1]: "qwen-coder r1 · bbbb0002"}
    assert gpu_names([{"gpu_id": "declared/qwen/3", "deployment": "qwen"}]) == {
        "declared/qwen/3": "qwen · qwen/3"
    }


def test_a_factor_keeps_two_decimals() -> None:
    """Factors multiply, so 1.25 is not rounded to 1.2."""
    assert factor(1.25) == "1.25×"
    assert factor(None) == "–"
