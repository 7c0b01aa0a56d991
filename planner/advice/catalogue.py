"""All kinds of advice, by name."""

from collections.abc import Iterable, Iterator

from planner.advice.found import Advice, Finder, Found, Refusal
from planner.advice.kinds import (
    cache_tools,
    cap_loops,
    change_billing,
    colocate,
    compress_context,
    prompt_cache,
    reflect,
    release_gpu,
    route_narrow,
    scale_down,
    scale_to_zero,
    spot,
    tool_schemas,
)
from planner.advice.load import Load
from planner.advice.rules import rule
from taximeter.units import duration, usd

KINDS: dict[str, Finder] = {
    one.KIND: one.find
    for one in (
        scale_down,
        scale_to_zero,
        release_gpu,
        change_billing,
        route_narrow,
        prompt_cache,
        compress_context,
        tool_schemas,
        cap_loops,
        cache_tools,
        colocate,
        spot,
        reflect,
    )
}


def find_all(load: Load) -> list[Found]:
    """Find all advice in a load, and every reason against one."""
    least_s = rule("least", "window_s")
    if load.recorded_s < least_s:
        reason = (
            f"only {duration(load.recorded_s)} are recorded and settled; a month is not told from less"
            " than"
            f" {duration(least_s)}"
        )
        return [Refusal(kind, "everything", reason) for kind in KINDS]
    return [one for find in KINDS.values() for one in _worth(load, find(load))]


def _worth(load: Load, found: Iterable[Found]) -> Iterator[Found]:
    """Turn savings of less than a cent a month into reasons."""
    for one in found:
        if isinstance(one, Advice):
            month = load.window.month(one.saving.most)
            if month is None or month < rule("least", "usd_month"):
                reason = f"it would save {usd(month)} a month"
                yield Refusal(one.kind, one.target, reason, one.deployment, one.agent, one.coverage_ratio)
                continue
        yield one
