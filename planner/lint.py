"""A linter for policies: what would not work, or would cost more than it saves, with the reason."""

import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from planner.facts import Facts
from planner.policies.agent_autoscale import read_scale_down, read_scale_up
from planner.policy_file import (
    ASSUMED_COLD_START_S,
    AgentAutoscaleBlock,
    Block,
    Bounds,
    HpaBlock,
    KedaBlock,
    KnativeBlock,
    PolicyFile,
    PrewarmBlock,
    QueueLengthBlock,
    RayServeBlock,
    SkyServeBlock,
    TokenRateBlock,
    check,
)
from taximeter.errors import BadInputError


class Finding(NamedTuple):
    """One thing to mend (error), to think about (warning) or to know (note)."""

    level: str
    policy: str
    rule: str
    text: str


class Subject(NamedTuple):
    """One policy as the rules see it."""

    name: str
    block: Block
    cold_start_s: float
    facts: Facts | None


_COST = re.compile(r"\b(cost|costs|spend|spending|usd|dollars?|budget|price)\b|\$|€", re.IGNORECASE)
_UTIL = re.compile(
    r"gpu[_ .-]*(util\w*|duty|busy)|\bdcgm_fi_dev_gpu_util\b|\butili[sz]ation\b", re.IGNORECASE
)
_SIGNAL_KEYS = ("scale_up", "scale_down", "metric", "metrics", "trigger", "triggers", "query", "signal")


def judge_written(written: dict[str, Any], source: str) -> list[Finding]:
    """Judge a file as it is written: signals first, which the schema would only call unknown."""
    found = list(_signals(written))
    try:
        parsed = check(written, source)
    except BadInputError as error:
        if not found:
            found.append(Finding("error", source, "schema", str(error).removeprefix(f"{source}: ")))
        return found
    return found + judge(parsed, None)


def judge(parsed: PolicyFile, facts: Facts | None) -> list[Finding]:
    """Judge a checked file; with facts of a recording the thresholds are held against it too."""
    start = parsed.fleet.cold_start
    cold_start_s = start.p50_s if start else facts.cold_start_s if facts else ASSUMED_COLD_START_S
    found = []
    for named in parsed.all():
        kind, block = named.block()
        subject = Subject(named.name or kind, block, cold_start_s, facts)
        for rule, apply in _RULES:
            found += [Finding(level, subject.name, rule, text) for level, text in apply(subject)]
    return found


def _signals(written: Any, path: tuple[str, ...] = ()) -> Iterator[Finding]:
    """Find signals that must not scale: money, and GPU utilization, wherever a trigger is written."""
    if isinstance(written, dict):
        for key, value in written.items():
            yield from _signals(value, (*path, str(key)))
        return
    if isinstance(written, list):
        for value in written:
            yield from _signals(value, path)
        return
    if not isinstance(written, str) or not any(key in _SIGNAL_KEYS for key in path):
        return
    name = next((key for key in path if key not in {"policies", "fleet"}), "")
    if _COST.search(written):
        text = f"{written!r}: money is a result of scaling and comes hours late; scale on waiting calls"
        yield Finding("error", name, "cost-as-trigger", text)
    if _UTIL.search(written):
        text = (
            f"{written!r}: a serving engine keeps the GPU near 100 % with one call or with fifty, so"
            " utilization says nothing about load; scale on waiting or served calls"
        )
        yield Finding("error", name, "gpu-utilization", text)


Told = Iterator[tuple[str, str]]


def _short_cooldown(subject: Subject) -> Told:
    """Releasing sooner than a replica takes to come back."""
    quiet = _cooldown_s(subject.block)
    if quiet is None or quiet >= subject.cold_start_s:
        return
    text = (
        f"it lets go after {quiet:g} s, but a replica takes {subject.cold_start_s:g} s to come back:"
        " whoever calls in between waits longer than was saved"
    )
    yield "warning", text


def _cooldown_s(block: Block) -> float | None:
    """Tell how long a policy holds what nobody uses."""
    if isinstance(block, AgentAutoscaleBlock):
        return read_scale_down(block.scale_down)
    names = {
        HpaBlock: "stabilize_down_s",
        KedaBlock: "cooldown_s",
        RayServeBlock: "downscale_delay_s",
        SkyServeBlock: "downscale_delay_s",
        QueueLengthBlock: "down_after_s",
        TokenRateBlock: "down_window_s",
        PrewarmBlock: "idle_s",
    }
    if isinstance(block, KnativeBlock):
        return block.stable_window_s + block.scale_down_delay_s
    name = names.get(type(block))
    return None if name is None else float(getattr(block, name))


def _no_wake(subject: Subject) -> Told:
    """Zero replicas that nothing brings back."""
    block = subject.block
    if not isinstance(block, Bounds) or block.min_replicas > 0:
        return
    if isinstance(block, HpaBlock):
        yield (
            "error",
            "at 0 replicas there is no metric to divide by: the HPA never comes back; use KEDA, or min 1",
        )
    elif isinstance(block, SkyServeBlock) and block.upscale_delay_s > 0:
        yield "note", "at 0 replicas it looks every 5 s and takes the new target at once"
    elif isinstance(block, AgentAutoscaleBlock):
        if block.wake == "none":
            yield "error", "min_replicas 0 and wake none: the first call after a release waits for ever"
        elif block.wake is None:
            yield "note", "min_replicas 0 without a wake rule: the first call to come starts one replica"


def _flaps(subject: Subject) -> Told:
    """Thresholds between which the same load goes to and fro."""
    block, facts = subject.block, subject.facts
    if isinstance(block, HpaBlock) and block.tolerance == 0 and block.stabilize_down_s == 0:
        yield "warning", "no tolerance and no stabilization: every change of load changes the replicas"
    if (
        isinstance(block, TokenRateBlock)
        and block.up_tolerance == block.down_tolerance == 0
        and not block.down_window_s
    ):
        yield "warning", "no tolerance and no window: every change of load changes the replicas"
    if isinstance(block, RayServeBlock) and block.downscale_delay_s < block.look_back_period_s:
        yield (
            "warning",
            "downscale_delay_s is shorter than look_back_period_s: it goes down on a load it still remembers",
        )
    quiet = _cooldown_s(block)
    if facts and facts.tool_p50_s is not None and quiet is not None and quiet < facts.tool_p50_s:
        yield (
            "warning",
            (
                f"it lets go after {quiet:g} s, but half of the tools take longer than"
                f" {facts.tool_p50_s:.1f} s: replicas go and come within one task"
            ),
        )


def _never_below(subject: Subject) -> Told:
    """A latency limit that a call alone breaks."""
    block, facts = subject.block, subject.facts
    if not isinstance(block, AgentAutoscaleBlock):
        return
    trigger = read_scale_up(block.scale_up)
    if trigger.metric != "latency":
        return
    if facts is None:
        yield "note", f"{block.scale_up}: latency is from arrival to answer, the call's own work included"
    elif facts.call_p95_s > trigger.limit:
        yield (
            "warning",
            (
                f"{block.scale_up}: a call alone takes {facts.call_p95_s:.1f} s at p95, so the limit is"
                " always broken and more replicas cannot mend it; limit the wait instead (p95_wait > 800ms)"
            ),
        )


def _slow_up(subject: Subject) -> Told:
    """Delays upwards that are longer than most loads last."""
    block = subject.block
    if isinstance(block, SkyServeBlock | RayServeBlock) and block.upscale_delay_s > 5 * subject.cold_start_s:
        yield (
            "note",
            (
                f"it waits {block.upscale_delay_s:g} s before it adds a replica, which then takes"
                f" {subject.cold_start_s:g} s to serve"
            ),
        )


_RULES: tuple[tuple[str, Callable[[Subject], Told]], ...] = (
    ("cooldown-shorter-than-cold-start", _short_cooldown),
    ("zero-without-wake", _no_wake),
    ("flapping", _flaps),
    ("limit-below-service", _never_below),
    ("slow-up", _slow_up),
)
