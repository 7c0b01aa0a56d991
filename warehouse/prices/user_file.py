"""The user's own prices: a YAML file of dated rows that win over every list."""

from datetime import UTC, date, datetime, time
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from taximeter.clock import to_ns
from taximeter.errors import SettingsError
from warehouse.prices.rows import PER_MILLION, GpuPrice, TokenPrice

_TOKEN_KEYS = {
    "model", "provider", "from", "source", "input_usd_per_mtok", "cache_read_usd_per_mtok",
    "cache_write_usd_per_mtok", "cache_write_1h_usd_per_mtok", "output_usd_per_mtok",
}  # fmt: skip
_GPU_KEYS = {"sku", "provider", "region", "kind", "from", "source", "usd_per_gpu_hour"}


class UserPrices(NamedTuple):
    """What the file says: token rows by (provider or None, model pattern), and GPU rows."""

    tokens: list[tuple[str | None, str, TokenPrice]]
    gpus: list[GpuPrice]

    def for_model(self, provider: str | None, model: str) -> list[TokenPrice]:
        """List the rows that name this model, oldest first; a row without a provider fits every one."""
        rows = [
            row
            for wanted, pattern, row in self.tokens
            if fnmatchcase(model.lower(), pattern.lower()) and wanted in (None, provider)
        ]
        return sorted(rows, key=lambda row: row.from_ns)


def read(file: Path | None) -> UserPrices:
    """Read the price file; no file means no rows.

    Raises:
        SettingsError: the file is missing, or a row has no date, an unknown key or a price that is none.
    """
    if file is None:
        return UserPrices([], [])
    try:
        document = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    except (OSError, yaml.YAMLError) as error:
        message = f"prices: {file} cannot be read: {str(error).splitlines()[0]}"
        raise SettingsError(message) from None
    tokens = [_token(row, file) for row in document.get("tokens", [])]
    gpus = [_gpu(row, file) for row in document.get("gpus", [])]
    return UserPrices(tokens, gpus)


def _token(row: dict[str, Any], file: Path) -> tuple[str | None, str, TokenPrice]:
    _check(row, _TOKEN_KEYS, ("model", "from", "input_usd_per_mtok", "output_usd_per_mtok"), file)

    def usd(part: str) -> Decimal | None:
        value = row.get(f"{part}_usd_per_mtok")
        return None if value is None else _price(value, row, file) / PER_MILLION

    price = TokenPrice(
        from_ns=_instant(row["from"], file),
        to_ns=None,
        day_from_s=None,
        day_to_s=None,
        prompt_from_tokens=0,
        prompt_to_tokens=None,
        input_usd=usd("input") or Decimal(0),
        cache_read_usd=usd("cache_read"),
        cache_write_usd=usd("cache_write"),
        cache_write_1h_usd=usd("cache_write_1h"),
        output_usd=usd("output") or Decimal(0),
        source=str(row.get("source", "your price file")),
        is_user_row=True,
    )
    return row.get("provider"), str(row["model"]), price


def _gpu(row: dict[str, Any], file: Path) -> GpuPrice:
    _check(row, _GPU_KEYS, ("sku", "from", "usd_per_gpu_hour"), file)
    return GpuPrice(
        sku=str(row["sku"]),
        provider=str(row.get("provider", "yours")),
        region=row.get("region"),
        kind=str(row.get("kind", "on_demand")),
        usd_per_gpu_hour=_price(row["usd_per_gpu_hour"], row, file),
        from_ns=_instant(row["from"], file),
        source=str(row.get("source", "your price file")),
        is_default=True,
        is_user_row=True,
    )


def _check(row: dict[str, Any], known: set[str], needed: tuple[str, ...], file: Path) -> None:
    unknown = sorted(set(row) - known)
    missing = [key for key in needed if row.get(key) is None]
    if unknown or missing:
        what = f"unknown key {unknown[0]}" if unknown else f"no {missing[0]}"
        message = f"prices: {file}: a row has {what}: {row}"
        raise SettingsError(message)


def _price(value: Any, row: dict[str, Any], file: Path) -> Decimal:
    try:
        price = Decimal(str(value))
    except InvalidOperation:
        price = Decimal("NaN")
    if not price.is_finite() or price < 0:
        message = f"prices: {file}: {value!r} is not a price: {row}"
        raise SettingsError(message)
    return price


def _instant(value: Any, file: Path) -> int:
    """Read a date (midnight UTC) or an instant with a zone."""
    if isinstance(value, datetime):
        return to_ns(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return to_ns(datetime.combine(value, time(0), UTC))
    try:
        return to_ns(datetime.fromisoformat(str(value)))
    except ValueError:
        message = f"prices: {file}: {value!r} is not a date; write it like 2026-11-01"
        raise SettingsError(message) from None
