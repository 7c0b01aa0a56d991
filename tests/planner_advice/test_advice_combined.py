"""All advice at once: replayed together, never above the cost, and ranges in no sum."""

from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from planner.advice.calls import recost, total
from planner.advice.catalogue import KINDS, find_all
from planner.advice.combine import combine
from planner.advice.found import Advice, Evidence, Plan, Refusal, Remedy, Saving
from planner.advice.testing import CHEAP, RATES, START_NS, call, deployment, gpu, load
from planner.fleet import ColdStart, Delay, Fleet, Pool
from planner.policies.fixed import FixedCount
from planner.testing import made
from planner.workload import Step
from taximeter.clock import NS_PER_S, to_datetime

POOL = Pool(usd_per_replica_hour=Decimal(1), cold_start=ColdStart(Delay(1.0, 1.0)))
FLEET = Fleet((POOL,))


def advised(kind: str = "prompt_cache", saving: Saving | None = None, **parts: Any) -> Advice:
    told: dict[str, Any] = {
        "target": "it",
        "sentence": "",
        "change": "",
        "cost_usd": Decimal(1),
        "evidence": Evidence("tasks", {}, 1),
        "signal": "",
        **parts,
    }
    return Advice(kind=kind, saving=saving or Saving(usd=Decimal(1)), **told)


def one_call_a_day() -> Any:
    work = made([Step(0, 0, 100.0, 110.0, 10.0, True, 0.0)])
    return deployment(work, FLEET, replicas=3)


def test_two_savings_on_the_same_tokens_are_not_added_up() -> None:
    """A call that a cap leaves out cannot be made cheaper by a smaller model as well."""
    calls = [call(1), call(2)]
    drop = advised("cap_loops", remedy=Remedy(recall=lambda now: list(now)[1:]))
    shrink = advised("route_narrow", remedy=Remedy(recall=lambda now: [recost(c, rates=CHEAP) for c in now]))
    alone = [total(calls) - total(one.remedy.recall(calls)) for one in (drop, shrink) if one.remedy.recall]

    together = combine(load(calls), [shrink, drop])

    half = calls[0].cost_usd or Decimal(0)
    assert alone == [half, 2 * half * Decimal("0.9")]
    assert together.saving_usd == half + half * Decimal("0.9") < sum(alone)
    assert together.cost_usd == total(calls)


def test_a_range_is_in_no_sum() -> None:
    """What rests on an assumption is shown beside the sum, never in it."""
    found = [advised("compress_context", Saving(low=Decimal(0), high=Decimal(9), assumption="x"))]

    together = combine(load([call(1)]), found)

    assert (together.saving_usd, together.taken) == (0, ())


def test_of_several_plans_for_a_deployment_the_best_counts_once_and_is_replayed() -> None:
    """Two plans that save a card and two cards of three: the second's saving, as replayed, not their sum."""
    own = one_call_a_day()
    plans = [
        advised(
            "scale_down", Saving(usd=Decimal(24 * (3 - n))), remedy=Remedy(plan=Plan("own", _fixed(n), FLEET))
        )
        for n in (2, 1)
    ]
    cards = tuple(gpu(f"c{n}", deployment="own", used_s=9.0) for n in range(3))

    together = combine(load(deployments=(own,), gpus=cards), plans)

    assert together.cost_usd == 72
    assert abs(together.saving_usd - 48) < Decimal("0.01")
    assert len(together.taken) == 1


def _fixed(replicas: int) -> Any:
    return lambda _: FixedCount(replicas)


def test_a_released_card_of_a_planned_deployment_counts_once() -> None:
    """A deployment that is scaled down already lets that card go."""
    own = one_call_a_day()
    plan = advised("scale_down", Saving(usd=Decimal(48)), remedy=Remedy(plan=Plan("own", _fixed(1), FLEET)))
    card = advised("release_gpu", Saving(usd=Decimal(24)), remedy=Remedy(gpu_id="c0"), deployment="own")
    other = advised("release_gpu", Saving(usd=Decimal(24)), remedy=Remedy(gpu_id="c9"), deployment=None)
    cards = tuple(gpu(f"c{n}") for n in (0, 1, 2, 9))

    together = combine(load(deployments=(own,), gpus=cards), [plan, card, other])

    assert abs(together.saving_usd - 72) < Decimal("0.01")


def test_nothing_is_said_of_a_month_from_less_than_a_day() -> None:
    """From an hour no kind says anything but that."""
    short = gpu(until_at=to_datetime(START_NS + 3_600 * NS_PER_S))
    found = find_all(load([call(n) for n in range(100)], gpus=(short,)))

    assert len(found) == len(KINDS)
    assert all(isinstance(one, Refusal) and "only 1.0 h are recorded" in one.reason for one in found)


def test_savings_of_less_than_a_cent_a_month_are_reasons() -> None:
    """Nobody changes an agent for that."""
    found = find_all(load(gpus=(gpu(cost_usd=Decimal("0.0001")),)))

    assert [one.reason for one in found if one.kind == "release_gpu" and isinstance(one, Refusal)] == [
        "it would save $0.0030 a month"
    ]


@settings(max_examples=40, deadline=None)
@given(
    calls=st.lists(
        st.tuples(
            st.integers(0, 3),  # task
            st.sampled_from(["coder", "router", "critic"]),
            st.sampled_from(["large", "small"]),
            st.integers(0, 9_000),
            st.integers(0, 200),
            st.integers(0, 9_000),
            st.integers(0, 900),
            st.sampled_from([None, "loop"]),
            st.sampled_from(["success", "failure"]),
        ),
        min_size=40,
        max_size=90,
    )
)
def test_together_never_saves_more_than_it_cost(calls: list[tuple[Any, ...]]) -> None:
    """Whatever was recorded: each saving and the combined one lie between nothing and the cost."""
    made_calls = [
        call(
            n,
            n * 20.0,
            task_id=f"t{task}",
            thread=agent,
            agent=agent,
            model=model,
            rates=RATES if model == "large" else CHEAP,
            input=size,
            output=output,
            read=min(read, size),
            resent=min(read, size),
            schema=min(schema, size - min(read, size)),
            asked_tool=False,
            bucket=bucket,
            outcome=outcome,
            round=n + 1,
        )
        for n, (task, agent, model, size, output, read, schema, bucket, outcome) in enumerate(calls)
    ]
    recorded = load(made_calls, gpus=(gpu(used_s=1.0),))  # a card that was held makes it a day

    found = [one for one in find_all(recorded) if isinstance(one, Advice)]
    together = combine(recorded, found)

    assert 0 <= together.saving_usd <= total(made_calls) < together.cost_usd == total(made_calls) + 24
    for one in found:
        assert one.saving.sure <= one.saving.most <= one.cost_usd <= together.cost_usd
        if one.saving.is_replayed:
            assert one.saving.sure > 0
