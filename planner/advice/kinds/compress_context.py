"""Compress context: what threads carry beyond what successful ones needed. A range: answers may change."""

from collections.abc import Iterator, Sequence
from decimal import Decimal
from math import ceil

from planner.advice.calls import Call, cost, percentile, total, without
from planner.advice.found import Advice, Evidence, Found, Refusal, Saving
from planner.advice.groups import Group, groups, threads
from planner.advice.load import Load
from planner.advice.rules import rule
from planner.advice.success import Judged, judge
from taximeter.units import count, usd

KIND = "compress_context"


def find(load: Load) -> Iterator[Found]:
    """Advise where threads grow beyond the median of what successful tasks carried at most."""
    judged = judge(load.calls)
    for group in groups(load, KIND):
        if isinstance(group, Refusal):
            yield group
        else:
            yield from _of_group(group, judged, load)


def _of_group(group: Group, judged: dict[str | None, Judged], load: Load) -> Iterator[Found]:
    lines = [line for line in threads(group.calls).values() if len(line) > 1]
    good = {task.task_id for one in judged.values() for task in one.successes}
    largest = [max(call.input or 0 for call in line) for line in lines if line[0].task_id in good]
    if len(largest) < rule("least", "successes"):
        reason = (
            f"{len(largest)} of its threads are of successful tasks;"
            f" {rule('least', 'successes'):.0f} are needed to know how much context is enough"
        )
        yield Refusal(KIND, group.title, reason, agent=group.agent, coverage_ratio=group.coverage_ratio)
        return
    limit = int(percentile(largest, 0.5))
    long = [line for line in lines if max(call.input or 0 for call in line) > limit]
    cut = [_cut(call, limit) for line in long for call in line]
    high = total(call for line in long for call in line) - total(cut)
    answer = int(percentile([call.output or 0 for call in group.calls], 0.95))
    low = high - sum((_compaction_usd(line, limit, answer) for line in long), Decimal(0))
    if high <= 0:
        return
    if high + low <= 0:
        reason = (
            f"threads grow little beyond {count(limit)} tokens: between {usd(low)} and {usd(high)} would be"
            " saved,"
            " as summaries cost more than what they replace"
        )
        yield Refusal(KIND, group.title, reason, agent=group.agent, coverage_ratio=group.coverage_ratio)
        return
    signals = {judged[line[0].task_type].signal for line in lines if line[0].task_id in good}
    yield Advice(
        kind=KIND,
        target=group.title,
        sentence=f"Keep the context of {group.title} under {count(limit)} tokens: {count(len(long))} of"
        f" {count(len(lines))} threads carry more. Between {usd(low)} and {usd(high)} of"
        f" {usd(total(group.calls))}.",
        change=f"Summarise or drop older messages once a thread's prompt passes {count(limit)} tokens.",
        cost_usd=total(group.calls),
        saving=Saving(
            low=low,
            high=high,
            assumption=f"answers stay as they were. At most: what is beyond {count(limit)} tokens, the"
            " median of the"
            " largest prompts of successful threads, is dropped. At least: each further half of that is"
            " replaced by"
            f" a call of its own that reads all of it uncached and answers {count(answer)} tokens",
        ),
        evidence=Evidence("context_growth", load.window.params(), len(long)),
        signal="; ".join(sorted(signals)),
        agent=group.agent,
        coverage_ratio=group.coverage_ratio,
        confidence=group.trust(load, is_replayed=False),
        price_source=group.price_source,
    )


def _cut(call: Call, limit: int) -> Call:
    """Take out of the resent part, after the schemas, what makes the prompt larger than the limit."""
    begin = call.schema or 0
    gone = min(max((call.input or 0) - limit, 0), call.resent or 0, (call.input or 0) - begin)
    return without(call, begin, begin + gone) if gone > 0 else call


def _compaction_usd(line: Sequence[Call], limit: int, answer: int) -> Decimal:
    """Price the summarising calls of a thread, at the rates of its last call."""
    over = max(call.input or 0 for call in line) - limit
    times = ceil(over / max(limit / 2, 1))
    once = cost(line[-1]._replace(input=limit, read=0, write=0, write_1h=0, output=answer))
    return (once or Decimal(0)) * times
