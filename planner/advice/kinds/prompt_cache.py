"""Turn on prompt caching: what a thread sends again is read from the provider's cache."""

from collections.abc import Iterator, Sequence
from decimal import Decimal

from planner.advice.calls import Call, recost, total
from planner.advice.found import Advice, Found, Refusal, Remedy, Saving
from planner.advice.groups import Group, Key, groups, key_of, put, threads
from planner.advice.load import Load
from planner.advice.rules import rule
from taximeter.clock import NS_PER_S
from taximeter.units import share, usd

KIND = "prompt_cache"


def find(load: Load) -> Iterator[Found]:
    """Advise where cache reads are told, have a price of their own, and would have been cheaper.

    The signal is the told cache reads: a source that says nothing of its cache may already use one.
    """
    for group in groups(load, KIND):
        if isinstance(group, Refusal):
            yield group
        elif reason := _reason_against(group):
            yield Refusal(KIND, group.title, reason, agent=group.agent, coverage_ratio=group.coverage_ratio)
        else:
            yield from _advise(group, load)


def _reason_against(group: Group) -> str | None:
    if any(call.rates and call.rates.cache_read is None for call in group.calls):
        return "the price book has no price for cache reads of this model"
    told = sum(call.read is not None for call in group.calls) / len(group.calls)
    if told < rule("least", "coverage_ratio"):
        return f"only {share(told)} of its calls tell what a cache served, so it may be on already"
    if not any(call.resent for call in group.calls):
        return "nothing is known to be sent again"
    return None


def _advise(group: Group, load: Load) -> Iterator[Advice]:
    before = total(group.calls)
    after = cache(group.calls, group.key)
    saved = before - total(after)
    if saved <= 0:
        return
    prompt = sum(call.input or 0 for call in group.calls)
    then = sum(call.read or 0 for call in group.calls) / max(prompt, 1)
    now = sum(call.read or 0 for call in after) / max(prompt, 1)
    kept_s = rule("prompt_cache", "kept_s")
    yield Advice(
        kind=KIND,
        target=group.title,
        sentence=f"Cache the prompts of {group.title}: {share(now)} of their tokens could be read from a"
        " cache"
        f" instead of {share(then)}. Over the recording that is {usd(saved)} of {usd(before)}.",
        change="Keep schemas, system prompt and history byte for byte the same from call to call, new text"
        " last,"
        " and mark the prefix for caching where the provider asks for that (cache_control).",
        cost_usd=before,
        saving=Saving(
            usd=saved,
            assumption=f"a cache keeps a prompt for {kept_s:.0f} s after its last use, from"
            f" {rule('prompt_cache', 'least_tokens'):.0f} tokens on; every call writes what is new",
        ),
        evidence=group.evidence(load, len(group.calls)),
        signal=f"cache reads told by the calls: {share(then)} of prompt tokens",
        remedy=Remedy(recall=lambda calls: cache(calls, group.key)),
        agent=group.agent,
        coverage_ratio=group.coverage_ratio,
        confidence=group.trust(
            load, is_replayed=True, is_measured=all(c.provenance != "estimated" for c in group.calls)
        ),
        price_source=group.price_source,
    )


def cache(calls: Sequence[Call], key: Key) -> list[Call]:
    """Serve what each thread of a group sends again from a cache, and write what it sends anew."""
    changed: list[Call] = []
    for line in threads(call for call in calls if call.is_plain and key_of(call) == key).values():
        before: Call | None = None
        for call in line:
            changed.append(_cached(call, before))
            before = call
    return put(calls, changed)


def _cached(call: Call, before: Call | None) -> Call:
    least = rule("prompt_cache", "least_tokens")
    size = call.input or 0
    is_kept = (
        before is not None and (call.start_ns - before.end_ns) <= rule("prompt_cache", "kept_s") * NS_PER_S
    )
    prefix = min((call.schema or 0) + (call.resent or 0), size)
    hit = prefix if is_kept and prefix >= least else 0
    read = max(call.read or 0, hit)
    write = min(max(call.write or 0, size - read if size >= least and _pays(call) else 0), size - read)
    return recost(call, read=read, write=write, write_1h=min(call.write_1h or 0, write))


def _pays(call: Call) -> bool:
    """Tell whether the provider takes a price of its own for writing to the cache."""
    write = call.rates.cache_write if call.rates else None
    return write is not None and write != Decimal(0)
