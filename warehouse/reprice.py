"""Pricing the past again: the one way in which money of priced steps may change, shown before it is written.

A step keeps the edition of the price book that priced it first (`sql/marts/price_editions_before.sql`). Repricing
takes that edition from the steps of a range, computes their tasks again, and compares: the difference that is
shown is the one that is written, because it is the same computation, rolled back or committed.
"""

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.clock import Clock
from taximeter.settings import Settings
from warehouse.queries import query
from warehouse.refresh import compute


def reprice(
    connection: DuckDBPyConnection,
    settings: Settings,
    clock: Clock,
    *,
    since_ns: int,
    until_ns: int,
    write: bool,
) -> pa.Table:
    """Price the steps that started in [since_ns, until_ns) by the newest edition; tell what changes, per model.

    Args:
        connection: the open warehouse, loaded and refreshed.
        settings: whose price file makes the newest edition.
        clock: tells as of when.
        since_ns: nanoseconds UTC.
        until_ns: nanoseconds UTC, not included.
        write: keep the new prices; else everything stays as it was.

    Returns:
        One row per model whose money or source changes, as `sql/prices/reprice_changes.sql` says.

    Raises:
        SettingsError: the user's price file cannot be used; nothing changed.
    """
    asked = {"since_ns": since_ns, "until_ns": until_ns}
    with connection.cursor() as cursor:
        cursor.begin()
        cursor.execute(query("prices/reprice_before"), asked)
        cursor.execute(query("prices/reprice_traces"))
        cursor.execute(query("prices/reprice_forget"), asked)
        compute(cursor, settings, clock)
        changes = cursor.execute(query("prices/reprice_changes")).to_arrow_table()
        if write:
            cursor.commit()
        else:
            cursor.rollback()
    return changes
