"""Reads price lists of GPUs (CSV) as rows of the user's price file.

Two headers are known: SkyPilot's catalogue (AcceleratorName, AcceleratorCount, Price, SpotPrice: of the whole
instance, undated, of one provider), and a plain one (sku, price, currency, unit, provider, region, kind,
date, source: of one card for one hour).
"""

import csv
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import NamedTuple

from taximeter.errors import BadInputError
from warehouse.prices import user_values

_CATALOGUE = {"AcceleratorName", "AcceleratorCount", "Price", "SpotPrice"}
_PLAIN = {"sku", "price"}
_UNITS = {"", "gpu-hour", "gpu_hour", "hour", "usd/gpu-hour"}
# What SkyPilot calls a card -> our SKU, where it differs.
_SKUS = {"A100-80GB": "A100-80", "A100": "A100-40", "H100": "H100-SXM", "RTX4090": "RTX-4090"}


class Given(NamedTuple):
    """What a list does not say itself; each None where it has to."""

    dated: str | None
    provider: str | None
    source: str


def read(lines: Iterable[str], given: Given) -> tuple[list[dict[str, object]], list[str]]:
    """Read a price list.

    Returns:
        Rows for `gpus`, equal ones once, none of which prices a card by itself (default: false); and one line
        for each that was refused.

    Raises:
        BadInputError: the header is not known, or nobody says when the prices held.
    """
    records = csv.DictReader(lines)
    header = set(records.fieldnames or ())
    if not (header >= _CATALOGUE or header >= _PLAIN):
        message = "this CSV is no list of GPU prices: it has neither sku and price nor a SkyPilot header"
        raise BadInputError(message)
    if "date" not in header and given.dated is None:
        message = "the list has no dates, and a price without one is refused; say when it held with --dated"
        raise BadInputError(message)
    make = _of_catalogue if header >= _CATALOGUE else _of_plain
    found: dict[tuple[object, ...], dict[str, object]] = {}
    refused: list[str] = []
    for number, record in enumerate(records, 2):
        try:
            for row in make(record, given):
                found.setdefault(tuple(row.values()), row)
        except ValueError as error:
            refused.append(f"line {number}: {error}")
    return list(found.values()), refused


def _of_catalogue(record: Mapping[str, str], given: Given) -> Iterator[dict[str, object]]:
    if not record["AcceleratorName"]:
        return
    if given.provider is None:
        message = "a catalogue does not say whose it is; name the provider with --provider"
        raise BadInputError(message)
    count = _usd(record["AcceleratorCount"], "AcceleratorCount")
    if count <= 0:
        message = f"{record['AcceleratorName']}: {count} cards cannot share a price"
        raise ValueError(message)
    sku = _SKUS.get(record["AcceleratorName"], record["AcceleratorName"])
    for column, kind in (("Price", "on_demand"), ("SpotPrice", "spot")):
        if record[column]:
            usd = _usd(record[column], column) / count
            yield _row(
                usd,
                sku=sku,
                provider=given.provider,
                region=record.get("Region"),
                kind=kind,
                dated=given.dated,
                source=given.source,
            )


def _of_plain(record: Mapping[str, str], given: Given) -> Iterator[dict[str, object]]:
    currency, unit = record.get("currency") or "USD", (record.get("unit") or "").lower()
    if currency.upper() != "USD":
        message = f"{record['sku']}: prices in {currency} are refused; only USD is known"
        raise ValueError(message)
    if unit not in _UNITS:
        message = f"{record['sku']}: the unit {unit} is not a card for an hour"
        raise ValueError(message)
    dated = record.get("date") or given.dated
    if not dated:
        message = f"{record['sku']}: it has no date"
        raise ValueError(message)
    user_values.instant(dated)
    yield _row(
        _usd(record["price"], "price"),
        sku=record["sku"],
        provider=record.get("provider") or given.provider or "unknown",
        region=record.get("region"),
        kind=record.get("kind") or "on_demand",
        dated=dated,
        source=record.get("source") or given.source,
    )


def _row(usd: Decimal, **told: str | None) -> dict[str, object]:
    amount = f"{user_values.to_micro(usd).normalize():f}"
    known = {key: value for key, value in told.items() if value and key != "dated"}
    return {**known, "from": told["dated"], "usd_per_gpu_hour": amount, "default": False}


def _usd(text: str, column: str) -> Decimal:
    try:
        number = Decimal(text)
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite() or number < 0:
        message = f"{column}: {text!r} is no amount"
        raise ValueError(message)
    return number
