"""What the price commands ask: `taximeter.prices_command` calls these by name."""

from pathlib import Path

from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import NotFoundError
from taximeter.settings import Settings
from warehouse import door
from warehouse.formats import write
from warehouse.prices import entry, listing, user_file
from warehouse.prices.append import Row, Section
from warehouse.prices.check import Finding, check


def show(settings: Settings, name: str | None, output: str) -> bytes:
    """List price rows in a format of `warehouse.formats`; see `warehouse.prices.listing`.

    Raises:
        TaximeterError: the price file cannot be used, there is no such format, or nothing has that name.
    """
    table = listing.list_prices(settings, name)
    if not table.num_rows:
        message = f"no list has a price for {name!r}; enter one with `taximeter prices add`"
        raise NotFoundError(message)
    full = [column for column in table.column_names if table[column].null_count < table.num_rows]
    return write(table.select(full) if output == "table" else table, output)


def look(settings: Settings, clock: Clock = SYSTEM_CLOCK) -> list[Finding]:
    """Check the price book against what the data folder uses.

    Raises:
        TaximeterError: the price file cannot be used, or the data cannot be read.
    """
    own = user_file.read(settings.prices.file)
    try:
        unpriced = door.ask(settings, "unpriced", {}).to_pylist()
    except NotFoundError:
        unpriced = None
    return list(check(own, unpriced, clock.now_ns()))


def add(settings: Settings, section: Section, row: Row, *, anyway: bool) -> entry.Taken:
    """Write one row; see `warehouse.prices.entry`."""
    return entry.add(settings, section, row, anyway=anyway)


def take_list(settings: Settings, path: Path, **wanted: str | None) -> entry.Taken:
    """Write the rows of a price list; see `warehouse.prices.entry.Wanted` for what may be wanted."""
    told = {key: value for key, value in wanted.items() if value is not None}
    return entry.import_list(settings, path, entry.Wanted(**told))


def reprice(
    settings: Settings, since: str, until: str | None, *, write_it: bool, output: str
) -> tuple[bytes, int]:
    """Price a range again; see `warehouse.door.reprice`.

    Returns:
        What changes, in a format of `warehouse.formats`, and how many rows that has.
    """
    changes = door.reprice(settings, since, until, write=write_it)
    return write(changes, output), changes.num_rows
