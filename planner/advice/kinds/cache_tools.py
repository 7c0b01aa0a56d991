"""Cache tool results: the same call, the same answer. A range: idle cards save money only if let go."""

from collections.abc import Iterator
from decimal import Decimal

from planner.advice.found import Advice, Evidence, Found, Refusal, Saving, confidence
from planner.advice.load import Load
from taximeter.units import count, duration, usd

KIND = "cache_tools"


def find(load: Load) -> Iterator[Found]:
    """Advise for each tool whose calls were repeated in a task with equal arguments and equal results.

    The signal is equal hashes of both, a tool marked as read-only, and nothing written between; repeats of
    which a result is unknown are no evidence.
    """
    if not load.tools:
        reason = "no tool call was repeated with arguments and results that are known to be equal"
        yield Refusal(KIND, "all tools", reason)
    for row in load.tools:
        tool = f"tool {row['tool_name']}"
        money = row["wait_cost_usd"]
        if not row["is_read_only"]:
            reason = "its spans do not mark it as read-only, so a repeat may have written something"
            yield Refusal(KIND, tool, reason)
        elif money is None:
            yield Refusal(KIND, tool, "a card that waited for it has no price")
        elif money <= 0:
            reason = (
                f"{count(row['extra_calls'])} repeats took {duration(row['extra_s'])}, but no card was kept"
                " waiting"
                " for them: it saves time, not money"
            )
            yield Refusal(KIND, tool, reason)
        else:
            yield Advice(
                kind=KIND,
                target=tool,
                sentence=f"Keep the results of {row['tool_name']} within a task: {count(row['extra_calls'])}"
                " repeats in"
                f" {count(row['tasks'])} tasks took {duration(row['extra_s'])}, while cards worth"
                f" {usd(money)} waited.",
                change="Answer a call with the same arguments from the first one's result until something is"
                " written.",
                cost_usd=money,
                saving=Saving(
                    low=Decimal(0),
                    high=money,
                    assumption="at least nothing, if the cards stay; at most their waiting for the repeats,"
                    " if they"
                    " are let go or used by others meanwhile",
                ),
                evidence=Evidence("duplicate_tools", load.window.params(), row["extra_calls"]),
                signal="equal hashes of arguments and results, marked read-only, nothing written between",
                confidence=confidence(is_replayed=False, window_s=load.recorded_s, coverage_ratio=None),
            )
