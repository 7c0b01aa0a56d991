"""Cap loops, rounds and time: stop what repeats itself, and what went on longer than any success."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planner.advice.calls import Call, total
from planner.advice.found import Advice, Evidence, Found, Refusal, Remedy, Saving, confidence
from planner.advice.load import Load
from planner.advice.rules import rule
from planner.advice.success import STATUS, Judged, judge
from taximeter.clock import NS_PER_S
from taximeter.units import count, duration, share, usd

KIND = "cap_loops"


class Cap(NamedTuple):
    """The most rounds and seconds of a task; None where no success tells it."""

    rounds: int | None
    seconds: float | None

    def cuts(self, call: Call) -> bool:
        """Tell whether a call would not have been made."""
        if self.rounds is not None and call.round is not None and call.round > self.rounds:
            return True
        return self.seconds is not None and call.start_ns - call.task_start_ns > self.seconds * NS_PER_S

    def __str__(self) -> str:
        parts = []
        if self.rounds is not None:
            parts.append(f"{count(self.rounds)} rounds")
        if self.seconds is not None:
            parts.append(duration(self.seconds))
        return " and ".join(parts)


def find(load: Load) -> Iterator[Found]:
    """Advise for each task type: against proved loops, and against going on longer than any success did."""
    by_type: dict[str | None, list[Call]] = {}
    for call in load.calls:
        by_type.setdefault(call.task_type, []).append(call)
    judged = judge(load.calls)
    for kind, calls in sorted(by_type.items(), key=lambda item: item[0] or ""):
        known = sum(call.cost_usd is not None for call in calls) / len(calls)
        if known < rule("least", "coverage_ratio"):
            paid = sum(call.paid_by == "tokens" for call in calls)
            reason = (
                f"the cost of {share(known)} of its calls is known;"
                f" advice needs {share(rule('least', 'coverage_ratio'))}"
                if paid
                else "its calls are paid by GPU time: a shorter task changes no bill by itself"
            )
            yield Refusal(KIND, _title(kind), reason, coverage_ratio=known)
            continue
        yield from _against_loops(kind, calls, known, load)
        yield from _against_length(kind, calls, judged[kind], known, load)


def _title(kind: str | None) -> str:
    return f"tasks of {kind or 'no type'}"


def _against_loops(kind: str | None, calls: list[Call], known: float, load: Load) -> Iterator[Advice]:
    repeated = [call for call in calls if call.bucket == "loop"]
    saved = total(repeated)
    if saved <= 0:
        return
    steps = {(call.task_id, call.step_id) for call in repeated}
    yield Advice(
        kind=KIND,
        target=f"loops in {_title(kind)}",
        sentence=f"Stop {_title(kind)} at the first repeat: {count(len(repeated))} calls asked for the same"
        " tools"
        f" with the same arguments and got the same results. They cost {usd(saved)} of {usd(total(calls))}.",
        change="End a round whose tool calls equal those of an earlier one in arguments, or tell the model"
        " its result"
        " is already there.",
        cost_usd=total(calls),
        saving=Saving(usd=saved),
        evidence=Evidence("loops", load.window.params(), len(repeated)),
        signal="equal hashes of arguments and of results, nothing written between (bucket loop)",
        remedy=Remedy(recall=lambda now: [one for one in now if (one.task_id, one.step_id) not in steps]),
        agent=kind,
        coverage_ratio=known,
        confidence=confidence(is_replayed=True, window_s=load.recorded_s, coverage_ratio=known),
        price_source=_sources(repeated),
    )


def _against_length(
    kind: str | None, calls: list[Call], judged: Judged, known: float, load: Load
) -> Iterator[Found]:
    good = judged.successes
    if len(good) < rule("least", "successes"):
        reason = (
            f"{len(good)} of its tasks are known to have succeeded (by: {judged.signal});"
            f" {rule('least', 'successes'):.0f} are needed to know how long a success takes"
        )
        yield Refusal(KIND, _title(kind), reason, coverage_ratio=known)
        return
    cap = limits([task.rounds for task in good], [task.seconds for task in good])
    bad = {task.task_id for task in judged.tasks if task.succeeded is False}
    cut = [call for call in calls if call.task_id in bad and cap.cuts(call)]
    saved = total(cut)
    if saved <= 0:
        return
    half = good[: len(good) // 2]
    early = limits([task.rounds for task in half], [task.seconds for task in half])
    late = {task.task_id for task in good[len(good) // 2 :]}
    broken = {call.task_id for call in calls if call.task_id in late and early.cuts(call)}
    yield Advice(
        kind=KIND,
        target=_title(kind),
        sentence=f"Stop {_title(kind)} after {cap}: no success took longer, and what did cost {usd(saved)}"
        f" of {usd(total(calls))} beyond that.",
        change=f"Set the agent's limits to {cap}.",
        cost_usd=total(calls),
        saving=Saving(
            usd=saved,
            assumption="a later success takes no longer than those recorded. A cap from the first half of"
            " them"
            f" would have cut {count(len(broken))} of the {count(len(late))} later ones",
        ),
        evidence=Evidence("recommendations_calls", load.window.params(), len(cut)),
        signal=judged.signal,
        remedy=Remedy(recall=lambda now: shorten(now, bad, cap)),
        agent=kind,
        coverage_ratio=known,
        confidence=confidence(
            is_replayed=True,
            window_s=load.recorded_s,
            coverage_ratio=known,
            is_measured=judged.signal != STATUS and not broken,
        ),
        price_source=_sources(cut),
    )


def limits(rounds: Sequence[int | None], seconds: Sequence[float | None]) -> Cap:
    """Take the most that any success needed."""
    counted = [one for one in rounds if one is not None]
    timed = [one for one in seconds if one is not None]
    return Cap(max(counted, default=None), max(timed, default=None))


def shorten(calls: Sequence[Call], tasks: set[str], cap: Cap) -> list[Call]:
    """Leave out the calls of these tasks that a cap would have stopped."""
    return [call for call in calls if not (call.task_id in tasks and cap.cuts(call))]


def _sources(calls: Sequence[Call]) -> str | None:
    return "; ".join(sorted({call.price_source for call in calls if call.price_source})) or None
