"""A bill as CSV with the columns of FOCUS, the common form of cloud bills: every line is a row of `bills`.

Money is read as decimal text and kept exactly; a line in another currency than USD, or without an amount or a
period, is refused with its reason and never guessed.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import Any, BinaryIO

import pyarrow as pa

from collector.formats.parts import ITEMS_PER_PART
from taximeter.clock import to_ns
from warehouse import rows

_SIGNS = {"BilledCost", "ChargePeriodStart", "ChargePeriodEnd"}
_TEXTS = {
    "account": ("BillingAccountId", "SubAccountId"),
    "provider": ("ProviderName", "ServiceProviderName", "PublisherName"),
    "service": ("ServiceName",),
    "sku": ("SkuId", "SkuMeter", "SkuPriceId"),
    "resource": ("ResourceId", "ResourceName"),
    "region": ("RegionId", "RegionName"),
    "category": ("ChargeCategory",),
    "description": ("ChargeDescription",),
    "unit": ("ConsumedUnit", "PricingUnit"),
}
_LONGEST_TEXT = 200
_MOST_USD = Decimal(10) ** 20


def is_focus(head: bytes) -> bool:
    """Tell by its header whether a file is a bill in FOCUS columns."""
    first = head.decode("utf-8-sig", "replace").splitlines()[:1]
    return bool(first) and set(next(csv.reader(first), [])) >= _SIGNS


def read_focus(file: BinaryIO, where: str) -> Iterator[dict[str, pa.Table]]:
    """Read the lines of a bill; `where` names the file.

    Yields:
        tables of `bills` and of what was refused.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    try:
        taken: list[dict[str, Any]] = []
        refused: list[dict[str, Any]] = []
        for number, line in enumerate(csv.DictReader(text), start=2):
            try:
                taken.append(_line(line, where, number))
            except _RefusedError as error:
                refused.append(_refusal(where, number, error))
            if len(taken) + len(refused) >= ITEMS_PER_PART:
                yield _tables(taken, refused)
                taken, refused = [], []
        if taken or refused:
            yield _tables(taken, refused)
    finally:
        text.detach()  # the file is whoever's who opened it


class _RefusedError(Exception):
    """A line that is not taken: the field that is wrong with it, and the reason."""

    def __init__(self, *, field: str, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


def _line(line: Mapping[str, str | None], where: str, number: int) -> dict[str, Any]:
    currency = (line.get("BillingCurrency") or "USD").strip().upper()
    if currency != "USD":
        raise _RefusedError(field="BillingCurrency", reason="other_currency")
    from_ns, to_ns_ = _instant(line, "ChargePeriodStart"), _instant(line, "ChargePeriodEnd")
    if to_ns_ <= from_ns:
        raise _RefusedError(field="ChargePeriodEnd", reason="end_before_start")
    texts = {name: _text(line, columns) for name, columns in _TEXTS.items()}
    return {
        "tenant": "default",
        "file": where,
        "line": number,
        **texts,
        "period_ns": _instant(line, "BillingPeriodStart") if line.get("BillingPeriodStart") else None,
        "from_ns": from_ns,
        "to_ns": to_ns_,
        "billed_usd": _usd(line, "BilledCost"),
        "quantity": _quantity(line.get("ConsumedQuantity") or line.get("PricingQuantity")),
    }


def _text(line: Mapping[str, str | None], columns: tuple[str, ...]) -> str | None:
    found = next((held for column in columns if (held := (line.get(column) or "").strip())), None)
    return None if found is None else found[:_LONGEST_TEXT]


def _instant(line: Mapping[str, str | None], column: str) -> int:
    try:
        instant = datetime.fromisoformat((line.get(column) or "").strip())
    except ValueError:
        raise _RefusedError(field=column, reason="bad_time") from None
    return to_ns(instant if instant.tzinfo else instant.replace(tzinfo=UTC))


def _usd(line: Mapping[str, str | None], column: str) -> Decimal:
    try:
        amount = Decimal((line.get(column) or "").strip())
    except InvalidOperation:
        raise _RefusedError(field=column, reason="not_a_number") from None
    if not amount.is_finite():
        raise _RefusedError(field=column, reason="not_finite")
    if abs(amount) > _MOST_USD:
        raise _RefusedError(field=column, reason="too_large")
    return amount.quantize(Decimal("0.000000000001"))


def _quantity(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def _refusal(where: str, number: int, error: _RefusedError) -> dict[str, Any]:
    return {
        "tenant": "default",
        "signal": "file",
        "source": where,
        "field": f"line {number}: {error.field}",
        "reason": error.reason,
    }


def _tables(taken: list[dict[str, Any]], refused: list[dict[str, Any]]) -> dict[str, pa.Table]:
    return {
        "bills": pa.Table.from_pylist(taken, schema=rows.BILLS),
        "refused": pa.Table.from_pylist(refused, schema=rows.REFUSED),
    }
