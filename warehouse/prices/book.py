"""Keeps the price tables true to the names that spans used, the lists and the user's file."""

import hashlib
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.settings import Settings
from warehouse.prices import catalogue, gpu_book, gpu_list, user_file
from warehouse.prices.compose import compose
from warehouse.prices.put import insert
from warehouse.prices.rows import TokenPrice
from warehouse.prices.tiers import ordinary, shares, with_tiers
from warehouse.queries import query

_USD = pa.decimal128(38, 18)
_TOKEN_SCHEMA = pa.schema(
    [
        ("price_id", pa.string()),
        ("known_ns", pa.int64()),
        ("model", pa.string()),
        ("service_tier", pa.string()),
        ("from_ns", pa.int64()),
        ("to_ns", pa.int64()),
        ("day_from_s", pa.int32()),
        ("day_to_s", pa.int32()),
        ("prompt_from_tokens", pa.int64()),
        ("prompt_to_tokens", pa.int64()),
        ("input_usd", _USD),
        ("cache_read_usd", _USD),
        ("cache_write_usd", _USD),
        ("cache_write_1h_usd", _USD),
        ("output_usd", _USD),
        ("source", pa.string()),
        ("is_user_row", pa.bool_()),
    ]
)


def prepare(connection: DuckDBPyConnection, settings: Settings, now_ns: int) -> None:
    """Bring the price tables up to date inside the refresh's transaction; cheap when nothing is new.

    Changed lists or a changed price file make a new edition, in which every name is looked up again. It
    prices what arrives from now on and what had no price; steps that an older edition priced keep its price.

    Raises:
        SettingsError: the user's price file cannot be used.
    """
    own = user_file.read(settings.prices.file)
    known_ns = _edition(connection, own, _digest(settings.prices.file), now_ns)
    for provider, model in connection.execute(query("prices/new_names")).fetchall():
        _add_name(connection, known_ns, (provider, model), own)


def _edition(connection: DuckDBPyConnection, own: user_file.UserPrices, digest: str, now_ns: int) -> int:
    """Find the instant that names today's edition of the book; a new one is later than all before it."""
    newest = connection.execute(query("prices/newest_edition")).fetchone()
    if newest and newest[0] == digest:
        return int(newest[1])
    known_ns = max(now_ns, int(newest[1]) + 1) if newest else now_ns
    connection.execute("insert into price_state (digest, made_ns) values (?, ?)", [digest, known_ns])
    gpu_book.adopt(connection, own.gpus, known_ns)
    connection.execute(query("prices/unpriced_traces"))
    return known_ns


def _add_name(
    connection: DuckDBPyConnection, known_ns: int, named: tuple[str, str], own: user_file.UserPrices
) -> None:
    provider, model = named
    listed = catalogue.find(provider or None, model)
    mine = own.for_model(catalogue.sellers(provider or None, model), model)
    name = _price_name(listed[0] if listed else None, provider, model, own=bool(mine))
    connection.execute(
        "insert into price_names (known_ns, provider, model, priced_as) values (?, ?, ?, ?)",
        [known_ns, provider, model, name],
    )
    if name is None:
        return
    have = connection.execute(
        "select 1 from token_prices where known_ns = ? and model = ? limit 1", [known_ns, name]
    ).fetchone()
    if have is None:
        rows = with_tiers(name, compose(listed[1] if listed else [], ordinary(mine)), mine)
        insert(connection, "token_prices", _TOKEN_SCHEMA, [_token_row(known_ns, name, row) for row in rows])


def _price_name(listed: str | None, provider: str, model: str, *, own: bool) -> str | None:
    """Name the set of rows: list names serve all spellings, the user's rows only their own."""
    return f"yours:{provider}/{model}" if own else listed


def _token_row(known_ns: int, name: str, row: TokenPrice) -> dict[str, object]:
    parts = (
        known_ns,
        name,
        row.from_ns,
        row.day_from_s,
        row.prompt_from_tokens,
        row.input_usd,
        row.output_usd,
        *([row.service_tier] if row.service_tier else []),
    )
    price_id = hashlib.sha256(repr(parts).encode()).hexdigest()[:16]
    return {"price_id": price_id, "known_ns": known_ns, "model": name, **row._asdict()}


def _digest(file: Path | None) -> str:
    """Digest everything that prices are made of: the lists we ship and the user's file."""
    digest = hashlib.sha256(repr(gpu_list.read()).encode())
    digest.update(catalogue.edition().encode())
    digest.update(repr(shares()).encode())
    if file is not None:
        digest.update(file.read_bytes())
    return digest.hexdigest()
