"""The user's own prices: a YAML file of dated rows that win over every list.

tokens: model (a glob), provider, from, source, and input, output, cache_read, cache_write, cache_write_1h,
  each with _usd_per_mtok. Where a row holds for a part only: prompt_from_tokens, prompt_to_tokens (the whole
  prompt, half-open), day_from, day_to (UTC, half-open), service_tier (batch, flex, priority).
gpus: sku, provider, region, kind, from, source, usd_per_gpu_hour, discount_ratio, and default: false for a
  row that is kept to compare with and prices no card.
"""

from collections import Counter
from collections.abc import Collection
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from taximeter.errors import SettingsError
from warehouse.prices import user_values
from warehouse.prices.names import spellings
from warehouse.prices.rows import PER_MILLION, GpuPrice, TokenPrice
from warehouse.prices.user_sets import find_fault

_PARTS = ("input", "cache_read", "cache_write", "cache_write_1h", "output")
_TOKEN_KEYS = {
    "model", "provider", "from", "source", "service_tier",
    "prompt_from_tokens", "prompt_to_tokens", "day_from", "day_to",
    *(f"{part}_usd_per_mtok" for part in _PARTS),
}  # fmt: skip
_GPU_KEYS = {
    "sku", "provider", "region", "kind", "from", "source", "usd_per_gpu_hour", "discount_ratio", "default",
}  # fmt: skip
_SECTIONS = {"tokens", "gpus"}
NO_SOURCE = "your price file"


class OwnTokenPrice(NamedTuple):
    """A row for tokens and whom it prices: a provider (none: every one) and a glob of model names."""

    provider: str | None
    pattern: str
    price: TokenPrice


class UserPrices(NamedTuple):
    """What the file says."""

    tokens: list[OwnTokenPrice]
    gpus: list[GpuPrice]

    def for_model(self, sellers: Collection[str], model: str) -> list[TokenPrice]:
        """List the rows that name this model, oldest first.

        Args:
            sellers: names of the provider, in lower case; a row that names another does not fit, a row that
                names none fits every one.
            model: as a span spells it; marks, dates behind `@` and prefixes need not be in the row.
        """
        names = spellings(model)
        rows = [
            row.price
            for row in self.tokens
            if row.provider is None or row.provider.lower() in sellers
            if any(fnmatchcase(name, row.pattern.lower()) for name in names)
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
        text = file.read_text(encoding="utf-8")
    except OSError as error:
        message = f"prices: {file} cannot be read: {error.strerror}; `taximeter prices add` makes it"
        raise SettingsError(message) from None
    return parse(text, file)


def parse(text: str, file: Path) -> UserPrices:
    """Read the text of a price file; `file` is only named in what is said about it.

    Raises:
        SettingsError: it is no YAML, or a row has no date, an unknown key or a price that is none, or two
            rows contradict each other.
    """
    try:
        document = yaml.safe_load(text) or {}
        return _read(document)
    except (yaml.YAMLError, ValueError) as error:
        message = f"prices: {file}: {str(error).splitlines()[0]}"
        raise SettingsError(message) from None


def _read(document: Any) -> UserPrices:
    if not isinstance(document, dict) or document.keys() - _SECTIONS:
        message = "it holds the lists tokens and gpus and nothing else"
        raise ValueError(message)
    tokens = [_token(row) for row in document.get("tokens") or []]
    together: dict[tuple[str | None, str, str | None, int], list[TokenPrice]] = {}
    for row in tokens:
        key = (row.provider, row.pattern, row.price.service_tier, row.price.from_ns)
        together.setdefault(key, []).append(row.price)
    for (_, pattern, _, _), prices in together.items():
        if fault := find_fault(prices):
            message = f"{pattern}: {fault}"
            raise ValueError(message)
    gpus = [_gpu(row) for row in document.get("gpus") or []]
    starts = Counter((row.sku, row.from_ns) for row in gpus if row.is_default)
    for (sku, _), rows in starts.items():
        if rows > 1:
            message = f"two rows price {sku} from the same time; write default: false into one of them"
            raise ValueError(message)
    return UserPrices(tokens, gpus)


def _token(row: Any) -> OwnTokenPrice:
    _check(row, _TOKEN_KEYS, ("model", "from", "input_usd_per_mtok", "output_usd_per_mtok"))
    day_from_s, day_to_s = user_values.day(row)
    low, high = user_values.prompt(row)
    price = TokenPrice(
        from_ns=user_values.instant(row["from"]),
        to_ns=None,
        day_from_s=day_from_s,
        day_to_s=day_to_s,
        prompt_from_tokens=low,
        prompt_to_tokens=high,
        input_usd=user_values.price(row["input_usd_per_mtok"], row) / PER_MILLION,
        cache_read_usd=_usd(row, "cache_read"),
        cache_write_usd=_usd(row, "cache_write"),
        cache_write_1h_usd=_usd(row, "cache_write_1h"),
        output_usd=user_values.price(row["output_usd_per_mtok"], row) / PER_MILLION,
        source=str(row.get("source") or NO_SOURCE),
        is_user_row=True,
        service_tier=str(row["service_tier"]).lower() if row.get("service_tier") else None,
    )
    return OwnTokenPrice(row.get("provider"), str(row["model"]), price)


def _usd(row: Any, part: str) -> Decimal | None:
    value = row.get(f"{part}_usd_per_mtok")
    return None if value is None else user_values.price(value, row) / PER_MILLION


def _gpu(row: Any) -> GpuPrice:
    _check(row, _GPU_KEYS, ("sku", "from", "usd_per_gpu_hour"))
    listed = user_values.price(row["usd_per_gpu_hour"], row)
    discount = user_values.ratio(row.get("discount_ratio", 0), row)
    source = str(row.get("source") or NO_SOURCE)
    return GpuPrice(
        sku=str(row["sku"]),
        provider=str(row.get("provider") or "yours"),
        region=row.get("region"),
        kind=str(row.get("kind") or "on_demand"),
        usd_per_gpu_hour=user_values.to_micro(listed * (1 - discount)),
        from_ns=user_values.instant(row["from"]),
        source=f"{source}, less {_percent(discount)} %" if discount else source,
        is_default=user_values.flag(row.get("default", True), row),
        is_user_row=True,
    )


def _percent(ratio: Decimal) -> str:
    return f"{(ratio * 100).normalize():f}"


def _check(row: Any, known: set[str], needed: tuple[str, ...]) -> None:
    if not isinstance(row, dict):
        message = f"a row is a list of keys and values, not {row!r}"
        raise ValueError(message)  # noqa: TRY004 - told as every other fault of the file
    unknown = sorted(set(row) - known, key=str)
    missing = [key for key in needed if row.get(key) is None]
    if unknown or missing:
        what = f"unknown key {unknown[0]}" if unknown else f"no {missing[0]}"
        message = f"a row has {what}: {row}"
        raise ValueError(message)
