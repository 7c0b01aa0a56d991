"""What is wrong or old in the price book: what `taximeter prices check` tells."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, NamedTuple

from taximeter.clock import to_datetime
from warehouse.prices import catalogue, gpu_list
from warehouse.prices.gpu_outliers import find_outliers
from warehouse.prices.rows import GpuPrice
from warehouse.prices.user_file import UserPrices

OLD = timedelta(days=90)


class Finding(NamedTuple):
    """One thing that was looked at: ok, note (fine, but know it) or wrong (money is missing or off)."""

    verdict: Literal["ok", "note", "wrong"]
    what: str
    told: str


def check(own: UserPrices, unpriced: Sequence[Mapping[str, Any]] | None, now_ns: int) -> Iterator[Finding]:
    """Look at all price rows, and at what has none.

    Args:
        own: the user's rows.
        unpriced: rows of the report `unpriced`; none where there is no data.
        now_ns: what ages are counted to.
    """
    now = to_datetime(now_ns)
    yield Finding("ok", "list prices", f"{catalogue.edition()}; your rows win over it")
    yield from _unpriced(unpriced)
    yield from _old(own, now)
    yield from _outliers(own.gpus)


def _unpriced(rows: Sequence[Mapping[str, Any]] | None) -> Iterator[Finding]:
    if rows is None:
        yield Finding("note", "used models", "there is no data yet, so nobody knows which models are used")
    elif not rows:
        yield Finding("ok", "used models", "every model that a step names has a price")
    for row in rows or ():
        told = f"{row['steps']:,} steps, {row['tokens'] or 0:,} tokens; add it with `taximeter prices add`"
        seller = f" of {row['provider']}" if row["provider"] else ""
        yield Finding("wrong", f"no price: {row['model'] or 'steps without a model'}{seller}", told)


def _old(own: UserPrices, now: datetime) -> Iterator[Finding]:
    newest: dict[str, int] = {}
    for token in own.tokens:
        name = token.pattern if token.provider is None else f"{token.provider}/{token.pattern}"
        newest[name] = max(newest.get(name, 0), token.price.from_ns)
    for gpu in own.gpus:
        name = f"{gpu.sku} of {gpu.provider}, {gpu.kind}"
        newest[name] = max(newest.get(name, 0), gpu.from_ns)
    for name, from_ns in newest.items():
        since = to_datetime(from_ns)
        if now - since > OLD:
            told = f"your newest row is {(now - since).days} days old ({since:%Y-%m-%d}); is it still true?"
            yield Finding("note", f"old price: {name}", told)
    day = gpu_list.oldest()
    age = now.date() - day
    if age > OLD:
        told = f"the oldest was read {age.days} days ago ({day}); your own rows always win"
        yield Finding("note", "old price: GPU list that ships with Taximeter", told)


def _outliers(own: Sequence[GpuPrice]) -> Iterator[Finding]:
    found = find_outliers(own, gpu_list.read() + list(own))
    for row, median_usd, sellers in found:
        told = (
            f"{row.usd_per_gpu_hour.normalize():f} USD an hour from {row.provider} "
            f"({to_datetime(row.from_ns).astimezone(UTC):%Y-%m-%d}) is more than three times off "
            f"{median_usd.normalize():f}, the median of {sellers} others; is it the price of one card?"
        )
        yield Finding("wrong", f"far off: {row.sku}, {row.kind}", told)
    if not found:
        yield Finding("ok", "GPU prices", "none of yours is more than three times off what others ask")
