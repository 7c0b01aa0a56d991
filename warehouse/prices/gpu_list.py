"""The GPU prices that ship with Taximeter: dated reference rows, to be overridden by the user's own."""

import csv
from datetime import UTC, date, datetime, time
from decimal import Decimal
from importlib.resources import files

from taximeter.clock import to_ns
from warehouse.prices.rows import GpuPrice

_MICRO = Decimal("0.000001")


def read() -> list[GpuPrice]:
    """Read warehouse/seeds/gpu_prices.csv; every row carries its source and the day it was read."""
    return [_row(record) for record in _records()]


def oldest() -> date:
    """Tell the day on which the oldest row that prices cards was read."""
    return min(date.fromisoformat(row["checked_on"]) for row in _records() if row["is_default"] == "yes")


def _records() -> list[dict[str, str]]:
    text = files("warehouse").joinpath("seeds/gpu_prices.csv").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return list(csv.DictReader(lines))


def _row(record: dict[str, str]) -> GpuPrice:
    day = date.fromisoformat(record["checked_on"])
    is_default = record["is_default"] == "yes"
    return GpuPrice(
        sku=record["sku"],
        provider=record["provider"],
        region=record["region"] or None,
        kind=record["kind"],
        usd_per_gpu_hour=Decimal(record["usd_per_gpu_hour"]).quantize(_MICRO),
        # The default also prices the time before it was read: no other is known; its source names the day.
        from_ns=0 if is_default else to_ns(datetime.combine(day, time(0), UTC)),
        source=f"{record['provider']} {record['kind']}, {record['checked_on']} ({record['via']})",
        is_default=is_default,
        is_user_row=False,
    )
