"""What a step waits for, how much slack it has, and which part of its time was queueing."""

import heapq
import math
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.fleet import Fleet
from planner.generate import Change, change
from planner.policies.fixed import FixedCount
from planner.service_model import Call, fit_slow_down, read_service_model
from planner.simulate import simulate
from planner.testing import arrivals, loops, made, pool
from planner.workload import Step, saturated, strip_queue
from taximeter.errors import BadInputError


def call(start: float, end: float, task: int = 0) -> Step:
    return Step(task, task, start, end, end - start, is_served=True)


def tool(start: float, end: float, task: int = 0) -> Step:
    return Step(task, task, start, end, end - start, is_served=False)


def test_a_step_waits_for_the_last_that_ended_before_it_plus_the_recorded_pause() -> None:
    """A call of 2 s, a pause of 1 s, a tool of 3 s, a pause of 0.5 s, a call: a chain with those gaps."""
    load = made([call(10, 12), tool(13, 16), call(16.5, 18)])

    assert load.gap_s == [10, 1, 0.5]
    assert load.before == [0, 1, 1]
    assert load.after == [(1,), (2,), ()]


def test_steps_that_overlap_run_in_parallel_and_the_next_waits_for_both() -> None:
    """Two tools start after one call; the call after them waits for both, not only for the longer."""
    load = made([call(0, 2), tool(2, 5), tool(2.5, 9), call(9, 10)])

    assert load.before == [0, 1, 1, 2]
    assert load.after[0] == (1, 2)
    assert (load.after[1], load.after[2]) == ((3,), (3,))
    assert load.gap_s[3] == 0


def test_a_chain_beside_a_long_step_is_joined_at_its_last_link() -> None:
    """Three calls in a row beside a tool of 10 s: what follows waits for the tool and the last call."""
    load = made([tool(0, 10), call(0, 2), call(2, 5), call(5, 9), call(10, 11)])
    joins = [step for step in range(5) if 4 in load.after[step]]

    assert [load.start_s[step] + load.recorded_s[step] for step in joins] == [10, 9]


def test_slack_is_what_a_step_may_be_late_without_moving_the_end_of_its_task() -> None:
    """The shorter of two parallel tools may end 4 s later, whatever is on the critical path not at all."""
    load = made([call(0, 2), tool(2, 5), tool(2, 9), call(9, 10)])

    assert load.slack_s == [0, 4, 0, 0]


def test_tasks_do_not_wait_for_one_another() -> None:
    """What other tasks did before is no reason to wait."""
    load = made([call(0, 2, task=0), call(5, 6, task=1)])

    assert (load.before, load.gap_s) == ([0, 0], [0, 5])


def test_a_replay_with_room_is_the_recording() -> None:
    """With a slot for every step each starts and ends as recorded."""
    load = loops(20, 10, 600)
    run = simulate(load, FixedCount(20), pool())

    assert run.arrived_s == pytest.approx(load.start_s)
    assert run.ended_s == pytest.approx([s + w for s, w in zip(load.start_s, load.work_s, strict=True)])


@settings(max_examples=60, deadline=None)
@given(
    gaps=st.lists(st.floats(0, 3), min_size=1, max_size=60),
    slots=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_queueing_first_come_first_served_is_found_again_exactly(
    gaps: list[float], slots: int, seed: int
) -> None:
    """Of a FIFO queue of any load, arrivals and ends alone tell when each step began to be served."""
    random = Random(seed)
    free = [0.0] * slots
    begins, ends, comes, now = [], [], [], 0.0
    for gap in gaps:
        now += gap
        begin = max(now, heapq.heappop(free))
        end = begin + random.expovariate(0.5)
        heapq.heappush(free, end)
        comes.append(now)
        begins.append(begin)
        ends.append(end)
    found = strip_queue(comes, ends, slots)

    if found.how == "estimated":
        assert found.begin_s == pytest.approx(begins)
    else:
        assert found.begin_s == comes


def test_more_at_once_than_fit_is_a_wrong_setting_not_queueing() -> None:
    """Ten calls that all run at once where one is said to fit: nothing is taken off, and that is said."""
    found = strip_queue([0.0] * 10, [5.0] * 10, slots=1)

    assert (found.how, found.begin_s) == ("unknown", [0.0] * 10)
    assert "more than 2 calls ran at once where 1 fit" in str(found.note)


def test_a_minute_is_saturated_when_all_slots_are_taken_for_more_than_half_of_it() -> None:
    """Two slots are full from 10 to 41 s of the first minute, and only 29 s of the second."""
    assert saturated([(0, 89), (10, 41), (60, 89)], slots=2) == (0,)


def test_a_service_model_is_read_and_times_a_call() -> None:
    """8,000 prompt tokens at 8,000 a second and 60 answer tokens at 60 a second take two seconds."""
    model = read_service_model("prefill_tokens_per_s=8000, decode_tokens_per_s=60")

    assert model.seconds(8_000, 60) == pytest.approx(2)
    assert str(model) == "prefill_tokens_per_s=8000,decode_tokens_per_s=60"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "prefill_tokens_per_s=1",
        "prefill_tokens_per_s=0,decode_tokens_per_s=1",
        "prefill_tokens_per_s=x,decode_tokens_per_s=1",
        "speed=3",
    ],
)
def test_half_a_service_model_is_refused(text: str) -> None:
    """What is missing, unknown or no positive number is refused in one line that shows the right form."""
    with pytest.raises(BadInputError, match="prefill_tokens_per_s=8000"):
        read_service_model(text)


def test_a_slow_down_by_company_is_found_again() -> None:
    """Calls made with 12 % more time per other call give 12 % back, and no slow-down gives none."""
    random = Random(3)
    company = [random.uniform(0, 6) for _ in range(400)]

    def calls(ratio: float) -> list[Call]:
        return [
            Call((10 * 500 + 40 * 100) * 1e-4 * (1 + ratio * n) * random.gauss(1, 0.05), n, 500, 0, 100)
            for n in company
        ]

    assert fit_slow_down(calls(0.12)).ratio == pytest.approx(0.12, abs=0.02)
    assert fit_slow_down(calls(0.0)).ratio == 0
    assert "200 needed" in fit_slow_down(calls(0.12)[:50]).note


def test_a_multiplied_load_has_whole_loops_and_the_same_seed_gives_the_same() -> None:
    """Three times the loads are three times the steps and work; every copy keeps its rounds and pauses."""
    load = loops(10, 5, 3_600)
    bigger = change(load, Change(multiply=3, seed=7))

    assert bigger.steps == 3 * load.steps
    assert sum(bigger.work_s) == pytest.approx(3 * sum(load.work_s))
    assert sorted(bigger.task_ids)[:3] == ["0", "0#2", "0#3"]
    assert change(load, Change(multiply=3, seed=7)) == bigger
    assert change(load, Change(multiply=3, seed=8)) != bigger


def test_a_burst_draws_arrivals_together_and_a_shift_moves_them() -> None:
    """Arrivals at 0, 30 and 60 min with burst 4 and a shift of 100 s come at 100 s, 550 s and 3,700 s."""
    load = arrivals([0, 1_800, 1_800], [1, 1, 1])
    moved = change(load, Change(burst=4, shift_s=100))

    assert moved.start_s == pytest.approx([100, 550, 3_700])
    assert moved.gap_s == pytest.approx([100, 550, 3_700])


def test_a_load_that_makes_no_sense_is_refused() -> None:
    """A step must not end before it starts, and a factor must be positive."""
    with pytest.raises(ValueError, match="ends before"):
        made([call(2, 1)])
    with pytest.raises(BadInputError, match="multiply must be positive"):
        change(loops(1, 1, 1), Change(multiply=0))
    assert math.isnan(Step(0, 0, 0, 1, 1, is_served=True).tokens)
    assert Fleet().pools[0].concurrency == 1
