"""Turn budgets: percentiles of rounds times the latency of a round, beside what turns really took."""

from collections.abc import Sequence
from typing import NamedTuple

from planner.advice.calls import Call, percentile
from planner.outcome import percentiles
from taximeter.clock import NS_PER_S


class Turn(NamedTuple):
    """The turns of one task type. Seconds; None where too few tasks tell it.

    `budget` is rounds at that percentile times the median round; `turn` what was measured.
    """

    task_type: str | None
    tasks: int
    rounds: tuple[float | None, float | None, float | None]  # p50, p95, p99
    round_p50_s: float | None
    round_p95_s: float | None
    budget_s: tuple[float | None, float | None, float | None]
    turn_s: tuple[float | None, float | None, float | None]
    calls_per_round: float


def measure_turns(calls: Sequence[Call]) -> list[Turn]:
    """Measure the turns of each task type; tasks without rounds or without a length are left out."""
    tasks: dict[str, list[Call]] = {}
    for call in calls:
        tasks.setdefault(call.task_id, []).append(call)
    by_type: dict[str | None, list[list[Call]]] = {}
    for members in tasks.values():
        if members[0].task_rounds and members[0].task_s:
            by_type.setdefault(members[0].task_type, []).append(members)
    ordered = sorted(by_type.items(), key=lambda item: (-len(item[1]), item[0] or ""))
    return [_turn(kind, members) for kind, members in ordered]


def _turn(kind: str | None, tasks: list[list[Call]]) -> Turn:
    rounds = [float(calls[0].task_rounds or 0) for calls in tasks]
    lengths = [calls[0].task_s or 0.0 for calls in tasks]
    each = [length / count for length, count in zip(lengths, rounds, strict=True)]
    median = percentile(each, 0.5)
    counted, measured = percentiles(rounds), percentiles(lengths)
    budget = tuple(None if count is None else count * median for count in counted)
    return Turn(
        task_type=kind,
        tasks=len(tasks),
        rounds=(counted.p50, counted.p95, counted.p99),
        round_p50_s=median,
        round_p95_s=percentiles(each).p95,
        budget_s=(budget[0], budget[1], budget[2]),
        turn_s=(measured.p50, measured.p95, measured.p99),
        calls_per_round=sum(len(calls) for calls in tasks) / sum(rounds),
    )


def burst_tasks(calls: Sequence[Call]) -> tuple[int, int]:
    """Tell how many tasks ran at once at most, and in 99 % of the time in which any ran."""
    spans: dict[str, tuple[int, int]] = {}
    for call in calls:
        length_ns = round((call.task_s or 0.0) * NS_PER_S)
        spans[call.task_id] = (call.task_start_ns, call.task_start_ns + length_ns)
    return levels([(begin / NS_PER_S, end / NS_PER_S) for begin, end in spans.values()])


def levels(spans: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Tell the most stretches at once, and the number that 99 % of the time with any does not exceed."""
    edges = sorted([(begin, 1) for begin, _ in spans] + [(end, -1) for _, end in spans])
    held: dict[int, float] = {}
    flying, since, most = 0, 0.0, 0
    for instant, change in edges:
        if flying:
            held[flying] = held.get(flying, 0.0) + instant - since
        flying, since = flying + change, instant
        most = max(most, flying)
    total, passed = sum(held.values()), 0.0
    for level in sorted(held):
        passed += held[level]
        if passed >= 0.99 * total:
            return most, level
    return most, most
