"""Rows of `refused`: what was not taken and why, never the text of it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from collector.journal.record import Record
from warehouse.rows import REFUSED


def refusal(record: Record, reason: str, field: str | None = None, **more: Any) -> dict[str, Any]:
    """Make one refused row of a request; `more` gives other columns."""
    row: dict[str, Any] = dict.fromkeys(REFUSED.names)
    row |= {"received_ns": record.received_ns, "tenant": record.tenant, "signal": record.signal}
    return row | {"source": record.peer, "field": field, "reason": reason} | more


def undecodable(records: Iterable[Record]) -> pa.Table:
    """Refuse whole requests that are no requests of their signal."""
    return refused_table(
        refusal(record, "undecodable", value=f"{len(record.payload)} bytes") for record in records
    )


def refused_table(rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Make the table of refused rows."""
    return pa.Table.from_pylist(list(rows), schema=REFUSED)
