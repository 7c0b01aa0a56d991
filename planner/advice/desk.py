"""What `taximeter plan advise` and `plan follow` ask for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from planner.advice.catalogue import find_all
from planner.advice.combine import combine
from planner.advice.found import Advice
from planner.advice.inbox import send
from planner.advice.load import Load, Terms, read_load
from planner.advice.manifests import name_of
from planner.advice.rows import followed_row, run_id, to_table
from planner.desk import Door
from planner.recording import Reports
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import NotFoundError
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.formats import find_format
from warehouse.parameters import parse_instant
from warehouse.prices import gpu_list, user_file
from warehouse.prices.rows import GpuPrice

Tell = Callable[[str], None]
_SHORT = (
    *("verdict", "kind", "target", "saving_usd_month", "saving_low_usd_month", "saving_high_usd_month"),
    *("added_wait_s_p95", "confidence", "evidence_report", "advice_id", "sentence"),
)


def advise(
    settings: Settings,
    *,
    since: str | None = None,
    until: str | None = None,
    terms: Terms = Terms(),  # noqa: B008 - immutable
    url: str | None = None,
    output: str = "table",
    save: bool = True,
    manifests: Path | None = None,
    tell: Tell = lambda _: None,
    clock: Clock = SYSTEM_CLOCK,
) -> bytes:
    """Find all advice, keep it in the warehouse (through its inbox), and write it.

    Raises:
        TaximeterError: nothing is recorded, or the warehouse does not answer.
    """
    now_ns = clock.now_ns()
    load = read_load(
        Door(settings, url),
        settings,
        since=since,
        until=until,
        now_ns=now_ns,
        terms=terms,
        other_prices=_other_prices(settings),
    )
    for one in load.deployments:
        for note in one.notes:
            tell(f"{one.name}: {note}")
    table = run(load, now_ns)
    if save and url and not settings.data.exists():
        tell(f"not kept: {url} has another data folder; run this where its settings are to keep the advice")
    elif save:
        send(DataFolder(settings.data).make(), f"advice{run_id(load, now_ns)}", table)
    if manifests is not None:
        for file in write_manifests(table, manifests):
            tell(f"wrote {file}")
    shown = table.select(_SHORT) if output == "table" else table
    return find_format(output).write(shown)


def run(load: Load, now_ns: int) -> pa.Table:
    """Find all advice of a load as one run's rows; `combined` comes first."""
    found = find_all(load)
    advice = [one for one in found if isinstance(one, Advice)]
    return to_table(load, found, combine(load, advice), now_ns)


def write_manifests(table: pa.Table, folder: Path) -> list[Path]:
    """Write each manifest of a run into a folder, named after its kind and deployment."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for row in table.to_pylist():
        if row["manifest"]:
            file = folder / f"{name_of(row['target'])}.{row['kind']}.yaml"
            file.write_text(row["manifest"], encoding="utf-8")
            written.append(file)
    return written


def follow(
    settings: Settings,
    advice_id: str,
    *,
    at: str | None = None,
    url: str | None = None,
    reports: Reports | None = None,
    clock: Clock = SYSTEM_CLOCK,
) -> str:
    """Remember that an advice was followed, now or at an instant, and say so.

    Raises:
        NotFoundError: no run gave that advice by then.
        TaximeterError: the warehouse does not answer, or the instant cannot be read.
    """
    now_ns = clock.now_ns()
    at_ns = parse_instant("at", at, now_ns) if at else now_ns
    asked = reports or Door(settings, url)
    rows: list[dict[str, Any]] = asked.report("recommendations", runs="all", verdict="advice").to_pylist()
    given = [row for row in rows if row["advice_id"] == advice_id]
    if not given:
        message = f"no run gave the advice {advice_id!r}; `taximeter plan advise` shows ids"
        raise NotFoundError(message)
    row = given[0]
    send(DataFolder(settings.data).make(), f"followed{advice_id}{at_ns}", followed_row(row, at_ns))
    return (
        f"Remembered: {row['kind']} {row['target']} is followed. `taximeter report recommendations_followed`"
        " compares what was predicted with what happens from now on."
    )


def _other_prices(settings: Settings) -> tuple[GpuPrice, ...]:
    """List all dated prices of cards, those of other ways of renting (spot) too."""
    return (*gpu_list.read(), *user_file.read(settings.prices.file).gpus)
