"""Each kind of advice about tokens, applied to calls made by hand: the saving is what one works out."""

from decimal import Decimal
from typing import Any

import pytest

from planner.advice.calls import Call, Rates, total
from planner.advice.found import Advice, Found, Refusal
from planner.advice.kinds import (
    cache_tools,
    cap_loops,
    compress_context,
    prompt_cache,
    reflect,
    route_narrow,
    tool_schemas,
)
from planner.advice.testing import CHEAP, RATES, call, load


def advice(found: Any) -> list[Advice]:
    return [one for one in found if isinstance(one, Advice)]


def reasons(found: Any) -> str:
    return "; ".join(one.reason for one in found if isinstance(one, Refusal))


def applied(one: Advice, calls: list[Call]) -> Decimal:
    assert one.remedy.recall is not None
    return total(calls) - total(one.remedy.recall(calls))


def thread(number: int, calls: int = 10, gap_s: float = 10.0, **columns: Any) -> list[Call]:
    """A thread that grows by 1,000 tokens a call, of which all but the newest 1,000 are sent again."""
    return [
        call(
            number * 100 + place,
            number * 1_000 + place * gap_s,
            task_id=f"task{number}",
            thread="main",
            round=place + 1,
            task_rounds=calls,
            input=3_000 + 1_000 * place,
            resent=2_000 + 1_000 * place if place else 0,
            **{"read": 0, **columns},
        )
        for place in range(calls)
    ]


def test_prompt_caching_reads_what_is_sent_again_and_writes_what_is_new() -> None:
    """Ten calls: the resent tokens cost a tenth, what is new costs a quarter more for being written."""
    calls = thread(1) + thread(2)

    (one,) = advice(prompt_cache.find(load(calls)))

    resent = sum(c.resent or 0 for c in calls)
    fresh = sum((c.input or 0) - (c.resent or 0) for c in calls)
    expected = resent * Decimal("0.000009") - fresh * Decimal("0.0000025")
    assert one.saving.usd == expected == applied(one, calls)
    assert one.cost_usd == total(calls)


def test_a_cache_that_ran_out_before_the_next_call_serves_nothing() -> None:
    """Calls six minutes apart find nothing kept, so that caching only costs: no advice."""
    assert advice(prompt_cache.find(load(thread(1, gap_s=361) + thread(2, gap_s=361)))) == []


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"read": None}, "so it may be on already"),
        ({"rates": Rates(RATES.input, RATES.output)}, "no price for cache reads"),
        ({"resent": 0}, "nothing is known to be sent again"),
        ({"cost_usd": None}, "known of 0.0 % of its calls; advice needs 90.0 %"),
    ],
)
def test_without_its_signal_or_price_there_is_no_advice_on_caching(
    columns: dict[str, Any], reason: str
) -> None:
    """Untold cache reads, no price or nothing resent: the reason is listed, no figure is made."""
    calls = [one._replace(**columns) for one in thread(1) + thread(2)]

    found = list(prompt_cache.find(load(calls)))

    assert advice(found) == []
    assert reason in reasons(found)


def narrow(count: int = 20, **columns: Any) -> list[Call]:
    told = {"agent": "router", "output": 10, "asked_tool": False, **columns}
    return [call(number, number * 60.0, **told) for number in range(count)]


def small(count: int = 20, **columns: Any) -> list[Call]:
    return [call(1_000 + n, n * 60.0, **{"model": "small", "rates": CHEAP, **columns}) for n in range(count)]


def test_narrow_steps_cost_what_a_smaller_model_of_the_recording_asks() -> None:
    """Twenty routing calls of 1,000 and 10 tokens cost a tenth on the model that others already use."""
    calls = narrow() + small()

    (one,) = advice(route_narrow.find(load(calls)))

    assert (
        one.saving.usd == 20 * (1_000 * Decimal("0.000009") + 10 * Decimal("0.000036")) == applied(one, calls)
    )
    assert one.signal.startswith("routing: the name says “rout”")
    assert one.confidence == "medium"


def test_short_answers_that_never_ask_for_a_tool_are_narrow_too() -> None:
    """A step without a telling name is narrow by 64 tokens of answer; one of 65 is not."""
    assert [
        one.signal[:13] for one in advice(route_narrow.find(load(narrow(agent="x", output=64) + small())))
    ] == ["short outputs"]
    assert advice(route_narrow.find(load(narrow(agent="x", output=65) + small()))) == []


@pytest.mark.parametrize(
    ("calls", "reason"),
    [
        (narrow(asked_tool=True) + small(), "no step is known to be narrow"),
        (narrow(agent="x", asked_tool=None) + small(), "no step is known to be narrow"),
        (narrow(reasoning=5) + small(), "no step is known to be narrow"),
        (narrow() + small(provider="other"), "no cheaper model of its provider"),
        (narrow() + small(19), "no cheaper model of its provider with 20 good calls"),
        (narrow() + small(status="error"), "no cheaper model of its provider"),
        (narrow(19) + small(), "fewer than 20 calls each"),
    ],
)
def test_without_a_named_signal_nothing_is_routed_elsewhere(calls: list[Call], reason: str) -> None:
    """Tools, reasoning, an untried or a foreign model are no ground for a smaller one."""
    found = list(route_narrow.find(load(calls)))

    assert advice(found) == []
    assert reason in reasons(found)


def test_schemas_of_an_agent_that_never_asks_for_a_tool_are_saved_whole() -> None:
    """Of 400 schema tokens a call 300 were read from the cache and 100 were not: each at its own price."""
    calls = [call(n, n * 60.0, schema=400, read=300, asked_tool=False) for n in range(20)]

    (one,) = advice(tool_schemas.find(load(calls)))

    assert (
        one.saving.usd == 20 * (300 * Decimal("0.000001") + 100 * Decimal("0.00001")) == applied(one, calls)
    )


@pytest.mark.parametrize(
    ("columns", "reason"),
    [
        ({"asked_tool": True}, "not which were never used"),
        ({"asked_tool": None}, "not known of every call"),
        ({"schema": None}, "known of 0.0 % of its calls"),
    ],
)
def test_schemas_that_may_be_needed_stay(columns: dict[str, Any], reason: str) -> None:
    """An agent that asks for tools, or may have, keeps its schemas."""
    told = {"schema": 400, "asked_tool": False, **columns}
    found = list(tool_schemas.find(load([call(n, n * 60.0, **told) for n in range(20)])))

    assert advice(found) == []
    assert reason in reasons(found)


def tasks(successes: int, failures: int, apart_s: float = 1_000.0, **columns: Any) -> list[Call]:
    """Successful tasks of 3 rounds, failed ones of 8."""
    made = []
    for number in range(successes + failures):
        rounds = 3 if number < successes else 8
        outcome = "success" if number < successes else "failure"
        for place in range(rounds):
            told = {
                "task_id": f"t{number}",
                "round": place + 1,
                "task_rounds": rounds,
                "task_s": rounds * 10.0,
                "task_start_ns": call(0, number * apart_s).start_ns,
                "outcome": outcome,
                **columns,
            }
            made.append(call(number * 10 + place, number * apart_s + place * 10, **told))
    return made


def test_a_cap_takes_away_only_what_went_on_longer_than_any_success() -> None:
    """Five failed tasks of 8 rounds stop after 3: 25 calls are saved, and no success loses one."""
    calls = tasks(20, 5)

    (one,) = advice(cap_loops.find(load(calls)))

    assert one.saving.usd == 25 * (calls[0].cost_usd or 0) == applied(one, calls)
    assert "3 rounds and 30.0 s" in one.change
    assert "would have cut 0 of the 10 later ones" in (one.saving.assumption or "")
    assert "outcome" in one.signal


def test_success_by_status_alone_is_named_and_trusted_less() -> None:
    """Where nobody said anything, ok is a success that nobody checked; the advice says so."""
    calls = [
        one._replace(outcome=None, task_status="ok" if one.outcome == "success" else "error")
        for one in tasks(20, 5, 27_000.0)
    ]

    (one,) = advice(cap_loops.find(load(calls, days=8)))

    assert "nobody checked" in one.signal
    assert one.confidence == "medium"
    assert advice(cap_loops.find(load(tasks(20, 5, 27_000.0), days=8)))[0].confidence == "high"
    assert (
        advice(cap_loops.find(load(tasks(20, 5), days=8)))[0].confidence == "medium"
    )  # a day of it is recorded


def test_a_task_of_which_nobody_knows_whether_it_succeeded_is_not_cut() -> None:
    """Where others were judged, a long task that nobody judged may have been a success: nothing is saved."""
    calls = [one._replace(outcome=one.outcome if one.outcome == "success" else None) for one in tasks(20, 5)]

    assert advice(cap_loops.find(load(calls))) == []


def test_too_few_successes_tell_no_cap() -> None:
    """Nineteen successes are not enough; the reason names the signal and the number."""
    found = list(cap_loops.find(load(tasks(19, 5))))

    assert advice(found) == []
    assert "19 of its tasks are known to have succeeded" in reasons(found)


def test_proved_loops_are_saved_whole() -> None:
    """Calls in the bucket loop asked and got the same again: what they cost is saved."""
    calls = [call(n, n * 60.0, bucket="loop" if n < 2 else None) for n in range(20)]

    (one, *_) = advice(cap_loops.find(load(calls)))

    assert one.saving.usd == 2 * (calls[0].cost_usd or 0) == applied(one, calls)
    assert one.evidence.report == "loops"


def test_compressing_context_is_a_range_and_says_what_it_assumes() -> None:
    """Answers may change with less context, so it is no replay, and its least is below its most."""
    calls = [one for n in range(20) for one in thread(n, calls=4 if n < 16 else 12, read=0)]

    (one,) = advice(compress_context.find(load(calls, days=2)))

    assert not one.saving.is_replayed
    assert one.saving.low is not None
    assert one.saving.high is not None
    limit = 6_000  # the largest prompt of most threads
    beyond = sum(max((c.input or 0) - limit, 0) for c in calls)
    assert one.saving.high == beyond * Decimal("0.00001")
    fresh = [*calls, call(9_999, 0.0, task_id="task16", thread="main", input=50_000, resent=0, output=0)]
    assert (
        advice(compress_context.find(load(fresh, days=2)))[0].saving.high == one.saving.high
    )  # new, not resent
    assert one.saving.low < one.saving.high <= one.cost_usd
    assert one.confidence == "low"
    assert one.remedy.recall is None


def test_context_is_left_alone_where_few_tasks_are_known_to_have_succeeded() -> None:
    """How much context is enough is read off successes; without 20 threads of them it is unknown."""
    calls = [one._replace(task_status="interrupted") for n in range(20) for one in thread(n, calls=4)]

    found = list(compress_context.find(load(calls, days=2)))

    assert advice(found) == []
    assert "0 of its threads are of successful tasks" in reasons(found)


def test_reflection_where_nothing_had_failed_is_a_range_from_nothing() -> None:
    """Of 20 reflections 15 followed no failed step: at most these are saved, at least none."""
    calls = [call(n, n * 60.0, agent="critic", failed_before=n < 5) for n in range(20)]

    (one,) = advice(reflect.find(load(calls)))

    assert (one.saving.low, one.saving.high) == (0, 15 * (calls[0].cost_usd or 0))
    assert not one.saving.is_replayed
    assert "“critic”" in one.signal


def test_reflection_that_nobody_names_is_not_guessed() -> None:
    """Without a name that says so no call is taken for a reflection."""
    found = list(reflect.find(load([call(n, n * 60.0) for n in range(20)])))

    assert advice(found) == []
    assert "no agent or step is named as reflection" in reasons(found)


def repeated(**columns: Any) -> tuple[dict[str, Any], ...]:
    row = {
        "tool_name": "grep",
        "is_read_only": True,
        "extra_calls": 7,
        "tasks": 3,
        "extra_s": 120.0,
        "wait_gpu_s": 100.0,
        "wait_cost_usd": Decimal("0.5"),
        "simulated": False,
    }
    return ({**row, **columns},)


def test_cached_tool_results_save_at_most_what_cards_waited_for() -> None:
    """Whether cards are let go meanwhile is not in the recording: from nothing to all of their waiting."""
    found: list[Found] = list(cache_tools.find(load(tools=repeated())))
    (one,) = advice(found)

    assert (one.saving.low, one.saving.high, one.saving.is_replayed) == (0, Decimal("0.5"), False)
    assert (
        reasons(cache_tools.find(load(tools=repeated(wait_cost_usd=None))))
        == "a card that waited for it has no price"
    )
    assert "time, not money" in reasons(cache_tools.find(load(tools=repeated(wait_cost_usd=Decimal(0)))))
    assert "do not mark it as read-only" in reasons(
        cache_tools.find(load(tools=repeated(is_read_only=False)))
    )
    assert "no tool call was repeated" in reasons(cache_tools.find(load()))
