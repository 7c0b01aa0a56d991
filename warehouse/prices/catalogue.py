"""The list prices that `genai-prices` ships, as dated rows; nothing here asks the network."""

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from importlib.metadata import version
from itertools import pairwise

from genai_prices.data_snapshot import DataSnapshot, get_snapshot
from genai_prices.types import ModelInfo, ModelPrice, Provider, StartDateConstraint, TieredPrices

from taximeter.clock import to_ns
from warehouse.prices.names import seller, spellings
from warehouse.prices.rows import PER_MILLION, TokenPrice

_FIELDS = ("input_mtok", "cache_read_mtok", "cache_write_mtok", "cache_write_1h_mtok", "output_mtok")
_DAY_S = 86_400


def edition() -> str:
    """Name the catalogue and its version; it is the source of every list price."""
    return f"genai-prices {version('genai-prices')}"


def find(provider: str | None, model: str) -> tuple[str, list[TokenPrice]] | None:
    """Find the catalogue's name and dated prices of a model, or None where it knows none.

    A provider the catalogue knows decides alone: a model it does not sell has no list price there, and
    another seller's price would be a guess. A provider it does not know (a framework, a tool) is passed over.
    """
    snapshot = get_snapshot()
    for spelling in spellings(model):
        found = _lookup(snapshot, _known(snapshot, provider) or _named_in(snapshot, model), spelling)
        if found:
            provider_found, info = found
            prices = list(_dated(info))
            return (f"{provider_found.id}/{info.id}", prices) if prices else None
    return None


def names() -> list[tuple[str, str]]:
    """List every (provider, model) of the catalogue; some are not sold by tokens of text and have no row."""
    return [(provider.id, model.id) for provider in get_snapshot().providers for model in provider.models]


def sellers(provider: str | None, model: str) -> set[str]:
    """List the names, in lower case, of whoever sold a call: as the span has it, and as the catalogue does.

    A call that names no provider is sold by the one in front of the model's name, if any.
    """
    snapshot = get_snapshot()
    named = provider or seller(model)
    known = _known(snapshot, provider) or _named_in(snapshot, model)
    return {name.lower() for name in (named, known) if name}


def _known(snapshot: DataSnapshot, provider: str | None) -> str | None:
    if not provider:
        return None
    try:
        return snapshot.find_provider(None, provider, None).id
    except LookupError:
        return None


def _named_in(snapshot: DataSnapshot, model: str) -> str | None:
    return _known(snapshot, seller(model))


def _lookup(snapshot: DataSnapshot, sold_by: str | None, spelling: str) -> tuple[Provider, ModelInfo] | None:
    try:
        return snapshot.find_provider_model(spelling, None, sold_by, None)
    except LookupError:
        return None


def _dated(info: ModelInfo) -> Iterator[TokenPrice]:
    """Cut a model's prices at every date, time of day and prompt size at which any of them changes."""
    source = edition()
    days, seconds = _changes(info)
    for from_day, to_day in pairwise([*days, None]):
        for from_s, to_s in pairwise([*seconds, _DAY_S]):
            midnight = datetime.combine(from_day or date(1970, 1, 1), time(0), UTC)
            prices = info.get_prices(midnight + timedelta(seconds=from_s))
            for low, high in _tiers(prices):
                row = _row(prices, low)
                if row is None:
                    continue
                all_day = len(seconds) == 1
                yield TokenPrice(
                    from_ns=to_ns(midnight) if from_day else 0,
                    to_ns=to_ns(datetime.combine(to_day, time(0), UTC)) if to_day else None,
                    day_from_s=None if all_day else from_s,
                    day_to_s=None if all_day else to_s,
                    prompt_from_tokens=low,
                    prompt_to_tokens=high,
                    input_usd=row[0],
                    cache_read_usd=row[1],
                    cache_write_usd=row[2],
                    cache_write_1h_usd=row[3],
                    output_usd=row[4],
                    source=source,
                    is_user_row=False,
                )


def _changes(info: ModelInfo) -> tuple[list[date | None], list[int]]:
    """List the days (None: ever since) and the seconds of the day from which another price can hold."""
    if isinstance(info.prices, ModelPrice):
        return [None], [0]
    days: set[date] = set()
    seconds = {0}
    for conditional in info.prices:
        constraint = conditional.constraint
        if isinstance(constraint, StartDateConstraint):
            days.add(constraint.start_date)
        elif constraint is not None:
            seconds |= {_second_of_day(constraint.start_time), _second_of_day(constraint.end_time)}
    return [None, *sorted(days)], sorted(seconds)


def _second_of_day(value: time) -> int:
    on_a_day = datetime.combine(date(1970, 1, 2), value, value.tzinfo or UTC).astimezone(UTC)
    return on_a_day.hour * 3600 + on_a_day.minute * 60 + on_a_day.second


def _tiers(prices: ModelPrice) -> Iterator[tuple[int, int | None]]:
    """Yield half-open ranges of prompt size; a tier that starts at 200,000 holds from 200,001 on."""
    starts = {0}
    for field in _FIELDS:
        value = getattr(prices, field)
        if isinstance(value, TieredPrices):
            starts |= {tier.start + 1 for tier in value.tiers}
    yield from pairwise([*sorted(starts), None])


def _row(
    prices: ModelPrice, prompt_tokens: int
) -> tuple[Decimal, Decimal | None, Decimal | None, Decimal | None, Decimal] | None:
    """Read USD per token at a prompt size; None where input or output has no price (not a text model)."""
    input_usd, cache_read, cache_write, cache_write_1h, output_usd = (
        _at(getattr(prices, field), prompt_tokens) for field in _FIELDS
    )
    if input_usd is None:
        return None
    # Embedding models sell no output: what does not exist costs nothing.
    return input_usd, cache_read, cache_write, cache_write_1h, output_usd or Decimal(0)


def _at(value: Decimal | TieredPrices | None, prompt_tokens: int) -> Decimal | None:
    if value is None:
        return None
    if isinstance(value, TieredPrices):
        holding = [tier.price for tier in value.tiers if prompt_tokens > tier.start]
        value = holding[-1] if holding else value.base
    return Decimal(value) / PER_MILLION
