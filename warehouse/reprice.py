"""Pricing the past again: the one way in which money that was counted may change, shown before it is written.

A step keeps the edition of the price book that priced it first (`sql/marts/price_editions_before.sql`).
Repricing takes that edition from the steps of a range, computes their tasks again, and compares: what is
shown is what would be written, because it is the same computation, rolled back or committed.
"""

from typing import NamedTuple

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.clock import Clock
from taximeter.settings import Settings
from warehouse import prices
from warehouse.parameters import Value, parse_instant
from warehouse.prices import gpu_book
from warehouse.queries import query
from warehouse.refresh import compute


class Span(NamedTuple):
    """A range of instants, ns UTC, the end not included."""

    since_ns: int
    until_ns: int

    @classmethod
    def read(cls, since: Value, until: Value, now_ns: int) -> "Span":
        """Read a range in the forms that reports take; no end is now.

        Raises:
            BadInputError: an instant is none.
        """
        return cls(
            parse_instant("since", since, now_ns),
            now_ns if until is None else parse_instant("until", until, now_ns),
        )


def reprice(
    connection: DuckDBPyConnection,
    settings: Settings,
    clock: Clock,
    *,
    since_ns: int,
    until_ns: int,
    write: bool,
) -> pa.Table:
    """Price what happened in [since_ns, until_ns) by the newest edition; tell what that changes.

    Steps belong to the range by their start, GPU-seconds by themselves.

    Args:
        connection: the open warehouse, loaded and refreshed.
        settings: whose price file makes the newest edition.
        clock: tells as of when.
        since_ns: nanoseconds UTC.
        until_ns: nanoseconds UTC, not included.
        write: keep the new prices; else everything stays as it was.

    Returns:
        One row per model or SKU whose money or source changes, as `sql/prices/reprice_changes.sql` says.

    Raises:
        SettingsError: the user's price file cannot be used; nothing changed.
    """
    asked = {"since_ns": since_ns, "until_ns": until_ns}
    with connection.cursor() as cursor:
        cursor.begin()
        cursor.execute(query("prices/reprice_before"), asked)
        cursor.execute(query("prices/reprice_traces"))
        cursor.execute(query("prices/reprice_forget"), asked)
        cursor.execute(query("prices/reprice_gpus_before"))
        prices.prepare(cursor, settings, clock.now_ns())
        gpu_book.reprice(cursor, settings, since_ns, until_ns)
        compute(cursor, settings, clock)
        changes = cursor.execute(query("prices/reprice_changes")).to_arrow_table()
        if write:
            cursor.commit()
        else:
            cursor.rollback()
    return changes
