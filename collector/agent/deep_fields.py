"""What a driver is asked beyond the basics: bursts between looks, real load, faults' neighbours, traffic."""

from collections.abc import Iterator
from functools import partial

from collector.agent.cards import Recall
from collector.agent.deep import DeepBinding, Reading
from collector.agent.fields import BASIC_FIELDS, PERCENT, Field, Look, Point, power, utilization, watts
from taximeter.clock import NS_PER_MS

_LONG_INTERVALS = 3  # after a longer gap a sample speaks for one interval only
_APART_NS = 100 * NS_PER_MS  # the least time between two snapshots that NVIDIA allows
_OVER = 1.1  # counters that run over 100 % by rounding are full; beyond this they say nothing


def deep_fields(deep: DeepBinding, *, links: bool) -> tuple[Field, ...]:
    """List every question to a driver that answers all; `links` adds traffic, whose calls block."""
    better = {
        "utilization": Field("utilization", "each", partial(_busy, deep)),
        "power": Field("power", "each", partial(_power, deep)),
    }
    more = (
        Field("load", "each", partial(_card_load, deep), quiet=True),
        Field("slice_load", "each", partial(_slice_load, deep), of="slice", quiet=True),
        Field("process_load", "slow", partial(_process_loads, deep), quiet=True),
    )
    traffic = (Field("links", "slow", partial(_links, deep)),) if links else ()
    return (*(better.get(field.name, field) for field in BASIC_FIELDS), *more, *traffic)


def _busy(deep: DeepBinding, look: Look) -> Iterator[Point]:
    """Busy share since the last look: the mean of the driver's own record, and its highest entry.

    The driver keeps an entry each 1/6 s to 1 s, each the busy share of the time up to it. So their mean, told
    at t, speaks for (previous look, t], which is what the ledger takes a sample at t for, and a burst of 300
    ms between two looks is in it. After a gap of more than three intervals a sample speaks for one interval,
    so only the entries of one interval count. Without a new entry the driver's latest figure is taken.
    """
    now = {point.metric: point for point in utilization(look)}
    percents = [reading.percent for reading in _new_readings(deep, look) if 0 <= reading.percent <= PERCENT]
    if percents:
        now["util_ratio"] = Point("util_ratio", sum(percents) / len(percents) / PERCENT)
        now["util_max_ratio"] = Point("util_max_ratio", max(percents) / PERCENT)
    yield from now.values()


def _new_readings(deep: DeepBinding, look: Look) -> list[Reading]:
    """Read the record onwards from where the last look ended; the first look only finds its end."""
    recall, now_us = look.recall, look.now_ns // 1000
    # A clock that was set back would leave every new entry before the last one read.
    since_us = recall.busy_us if recall.busy_us <= now_us else 0
    readings = deep.busy_since(look.handle, since_us)
    before_ns, recall.busy_ns = recall.busy_ns, look.now_ns
    if readings:
        recall.busy_us = max(reading.t_us for reading in readings)
    if before_ns is None or not since_us:
        return []
    is_gap = look.now_ns - before_ns > _LONG_INTERVALS * look.interval_ns
    from_us = (look.now_ns - look.interval_ns) // 1000 if is_gap else since_us
    return [reading for reading in readings if reading.t_us > from_us]


def _power(deep: DeepBinding, look: Look) -> Iterator[Point]:
    """What the card draws, and its module beside it where both are told; never one for the other.

    Of a superchip the plain figure may be the whole module's, so it is taken only where there is no module.
    """
    if look.recall.has_module is None:
        look.recall.has_module = _has_module(deep, look)
    if not look.recall.has_module:
        yield from power(look)
        return
    powers = deep.powers(look.handle)
    yield from watts("power_w", powers.card_mw)
    yield from watts("module_power_w", powers.module_mw)


def _has_module(deep: DeepBinding, look: Look) -> bool:
    """Tell a superchip by its module drawing more; a driver that ignores the scope says the same for both."""
    powers = deep.powers(look.handle)
    return powers.module_mw is not None and powers.module_mw > (powers.card_mw or 0)


def _card_load(deep: DeepBinding, look: Look) -> Iterator[Point]:
    for point in _loads(deep, look):
        # Of a whole card the driver's own record says when a kernel was resident.
        if point.metric != "util_ratio":
            yield point


def _slice_load(deep: DeepBinding, look: Look) -> Iterator[Point]:
    """Load of a MIG instance: its card's busy figure is not told and would be of all instances together."""
    yield from _loads(deep, look)


def _loads(deep: DeepBinding, look: Look) -> Iterator[Point]:
    """Compare the hardware counters with those at the last look; a snapshot is used twice and given back."""
    recall = look.recall
    if recall.can_mark is None:
        recall.can_mark = deep.can_mark(look.handle)
    if not recall.can_mark or (recall.mark is not None and look.now_ns - recall.mark_ns <= _APART_NS):
        return
    before, before_ns = recall.mark, recall.mark_ns
    recall.mark, recall.mark_ns = deep.mark(look.handle), look.now_ns
    if before is None:
        return
    try:
        loads = deep.loads(before, recall.mark)
    finally:
        deep.free(before)
    if look.now_ns - before_ns > _LONG_INTERVALS * look.interval_ns:
        return
    named = ("util_ratio", "sm_active_ratio", "tensor_active_ratio", "dram_active_ratio")
    for metric, percent in zip(named, loads, strict=True):
        if percent is not None and 0 <= percent <= PERCENT * _OVER:
            yield Point(metric, min(percent / PERCENT, 1.0))
    highest = max((percent for percent in loads if percent is not None), default=0)
    if highest > PERCENT:
        yield Point("over_full_percent", highest)


def free_marks(deep: DeepBinding, recall: Recall) -> None:
    """Give back the snapshot that a card's next look would have used."""
    mark, recall.mark = recall.mark, None
    if mark is not None:
        deep.free(mark)


def _process_loads(deep: DeepBinding, look: Look) -> Iterator[Point]:
    """Share of the multiprocessor time that each process took; one that took none is not told of."""
    recall, now_us = look.recall, look.now_ns // 1000
    since_us = recall.process_us if recall.process_us <= now_us else 0
    loads = deep.process_loads(look.handle, since_us)
    recall.process_us = max((load.t_us for load in loads), default=since_us or now_us)
    shares: dict[int, list[int]] = {}
    for load in loads:
        if since_us and load.t_us > since_us and 0 <= load.sm_percent <= PERCENT:
            shares.setdefault(load.pid, []).append(load.sm_percent)
    for pid, percents in shares.items():
        yield Point("process_sm_ratio", sum(percents) / len(percents) / PERCENT, pid)


def _links(deep: DeepBinding, look: Look) -> Iterator[Point]:
    for metric, figure in deep.links(look.handle)._asdict().items():
        if figure is not None:
            yield Point(metric, figure)
