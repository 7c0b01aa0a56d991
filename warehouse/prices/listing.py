"""Every price row that a name finds, as one table: what `taximeter prices list` shows."""

from collections.abc import Iterator
from fnmatch import fnmatchcase

import pyarrow as pa

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Settings
from warehouse.prices import catalogue, gpu_force, gpu_list, user_file
from warehouse.prices.compose import compose
from warehouse.prices.rows import PER_MILLION, GpuPrice, TokenPrice
from warehouse.prices.tiers import ordinary, with_tiers

_USD = pa.decimal128(38, 12)
_SCHEMA = pa.schema(
    [
        ("name", pa.string()),
        ("provider", pa.string()),
        ("kind", pa.string()),
        ("region", pa.string()),
        ("from_at", pa.timestamp("us")),
        ("until_at", pa.timestamp("us")),
        ("holds_for", pa.string()),
        ("usd_per_gpu_hour", _USD),
        ("input_usd_per_mtok", _USD),
        ("cache_read_usd_per_mtok", _USD),
        ("cache_write_usd_per_mtok", _USD),
        ("cache_write_1h_usd_per_mtok", _USD),
        ("output_usd_per_mtok", _USD),
        ("price_source", pa.string()),
        ("prices_something", pa.bool_()),  # false: a row to compare with
    ]
)
_PARTS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")


def list_prices(settings: Settings, name: str | None) -> pa.Table:
    """List price rows.

    Args:
        settings: whose price file holds.
        name: a model or a SKU as anyone spells it, or a glob of `provider/model` and SKU names; none for the
            user's own rows and all GPU rows.

    Raises:
        SettingsError: the user's price file cannot be used.
    """
    own = user_file.read(settings.prices.file)
    rows = [*_tokens(own, name), *_gpus(own, name)]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _tokens(own: user_file.UserPrices, name: str | None) -> Iterator[dict[str, object]]:
    if name is None:
        for mine in own.tokens:
            yield _token_row(mine.pattern, mine.provider, mine.price)
        return
    found = [(provider, model) for provider, model in catalogue.names() if _fits(f"{provider}/{model}", name)]
    if not found:
        found = [("", name)]
    for provider, model in found:
        listed = catalogue.find(provider or None, model)
        mine_too = own.for_model(catalogue.sellers(provider or None, model), model)
        shown = listed[0] if listed else name
        prices = compose(listed[1] if listed else [], ordinary(mine_too))
        for price in with_tiers(shown, prices, mine_too):
            yield _token_row(shown, provider or None, price)


def _gpus(own: user_file.UserPrices, name: str | None) -> Iterator[dict[str, object]]:
    every = gpu_list.read() + own.gpus
    in_force = gpu_force.choose(every)
    others = [row for row in every if not row.is_default]
    for row in sorted(in_force + others, key=lambda row: (row.sku, not row.is_default, row.from_ns)):
        if name is None or _fits(row.sku, name):
            yield _gpu_row(row)


def _fits(known: str, wanted: str) -> bool:
    return fnmatchcase(known.lower(), wanted.lower())


def _token_row(name: str, provider: str | None, row: TokenPrice) -> dict[str, object]:
    usd = {f"{part}_usd_per_mtok": getattr(row, f"{part}_usd") for part in _PARTS}
    return {
        "name": name,
        "provider": provider,
        "kind": "tokens",
        "from_at": _at(row.from_ns),
        "until_at": _at(row.to_ns),
        "holds_for": ", ".join(_parts(row)) or None,
        **{key: None if value is None else round(value * PER_MILLION, 12) for key, value in usd.items()},
        "price_source": row.source,
        "prices_something": True,
    }


def _gpu_row(row: GpuPrice) -> dict[str, object]:
    return {
        "name": row.sku,
        "provider": row.provider,
        "kind": row.kind,
        "region": row.region,
        "from_at": _at(row.from_ns),
        "until_at": _at(row.to_ns),
        "usd_per_gpu_hour": row.usd_per_gpu_hour,
        "price_source": row.source,
        "prices_something": row.is_default,
    }


def _parts(row: TokenPrice) -> Iterator[str]:
    if row.service_tier:
        yield f"service tier {row.service_tier}"
    if row.prompt_from_tokens or row.prompt_to_tokens:
        high = f" up to {row.prompt_to_tokens - 1:,}" if row.prompt_to_tokens else ""
        yield f"prompts from {row.prompt_from_tokens:,}{high} tokens"
    if row.day_from_s is not None and row.day_to_s is not None:
        yield f"{_clock(row.day_from_s)} to {_clock(row.day_to_s)} UTC"


def _clock(second: int) -> str:
    return f"{second // 3600:02}:{second // 60 % 60:02}"


def _at(instant_ns: int | None) -> object:
    """Tell an instant without a zone, as reports do; none for ever since and for ever after."""
    return None if not instant_ns else to_datetime(instant_ns // NS_PER_S * NS_PER_S).replace(tzinfo=None)
