"""What `taximeter plan` asks for: cases out of the warehouse, and their results as tables and pages."""

import os
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from planner import catalogue, lint, page, recording, tables
from planner.backtest import Backtest, Case, Recorded, run_backtest
from planner.facts import look
from planner.generate import Change, change
from planner.outcome import Slo
from planner.policy_file import FleetBlock, Known, NamedBlocks, check, make_fleet, read_yaml
from planner.service_model import read_service_model
from planner.workload import Workload
from taximeter.errors import BadInputError, NotFoundError
from taximeter.settings import Settings
from warehouse.door import ask
from warehouse.formats import find_format

Tell = Callable[[str], None]


class Wanted(NamedTuple):
    """The load that is asked for, as the command line gives it."""

    deployment: str | None = None
    since: str | None = None
    until: str | None = None
    service_model: str | None = None
    concurrency: int | None = None
    usd_per_gpu_hour: str | None = None
    multiply: float = 1.0
    shift_s: float = 0.0
    burst: float = 1.0
    seed: int = 1


class Door:
    """Reports of the warehouse, wherever it is."""

    def __init__(self, settings: Settings, url: str | None = None) -> None:
        self._settings, self._url = settings, url

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        """Answer a report or raise TaximeterError."""
        return ask(self._settings, name, dict(params), url=self._url)


def backtest(
    settings: Settings, wanted: Wanted, files: Sequence[Path], *, url: str | None, output: str, tell: Tell
) -> bytes:
    """Replay policies of files, or every policy with its makers' defaults where there is no file.

    Raises:
        TaximeterError: a file is wrong, nothing was recorded, or the warehouse does not answer.
    """
    if output not in {"html", "json", "table", "csv"}:
        message = f"there is no format {output!r}; there are table, json, csv, html"
        raise BadInputError(message)
    checked = [(file, check(read_yaml(file), str(file))) for file in files]
    fleets = [found.fleet for _, found in checked if found.fleet != FleetBlock()]
    if any(fleet != fleets[0] for fleet in fleets[1:]):
        message = "the policy files describe different fleets; give one of them"
        raise BadInputError(message)
    case, notes = read_case(Door(settings, url), settings, wanted, fleets[0] if fleets else FleetBlock())
    policies: list[NamedBlocks] = []
    if files:
        for file, found in checked:
            policies += found.all()
            for finding in lint.judge(found, case.facts):
                tell(f"{file}: {finding.level}: {finding.policy}: {finding.text}")
    else:
        policies = catalogue.all_policies(case.facts).all()
    for note in notes:
        tell(note)
    done = run_backtest(
        case, _unlike(policies), processes=_processes(), tell=lambda name: tell(f"replayed {name}")
    )
    tell(tables.sentence(done))
    if output == "html":
        return page.write(done, notes).encode()
    return find_format(output).write(tables.backtest_table(done, is_short=output == "table"))


def workload(settings: Settings, wanted: Wanted, *, url: str | None, output: str, tell: Tell) -> bytes:
    """Tell what a replay would replay.

    Raises:
        TaximeterError: nothing was recorded, or the warehouse does not answer.
    """
    case, notes = read_case(Door(settings, url), settings, wanted, FleetBlock())
    for note in notes:
        tell(note)
    return find_format(output).write(tables.workload_table(case))


def billing(settings: Settings, wanted: Wanted, *, url: str | None, output: str, tell: Tell) -> bytes:
    """Tell what the same load costs under other bills, replayed: who waits for a cold start is late after it.

    Raises:
        TaximeterError: nothing was recorded, or the warehouse does not answer.
    """
    case, notes = read_case(Door(settings, url), settings, wanted, FleetBlock())
    for note in notes:
        tell(note)
    return find_format(output).write(tables.billing_table(case))


def lint_files(files: Sequence[Path]) -> list[tuple[Path, lint.Finding]]:
    """Judge policy files as they are written, without a recording.

    Raises:
        BadInputError: a file cannot be read as YAML.
    """
    return [(file, finding) for file in files for finding in lint.judge_written(read_yaml(file), str(file))]


def read_case(
    reports: recording.Reports, settings: Settings, wanted: Wanted, block: FleetBlock
) -> tuple[Case, list[str]]:
    """Read a case: the load, the fleet it ran on, and what that cost; and say what was assumed.

    Raises:
        TaximeterError: nothing can be replayed, or a figure is missing; the text says which.
    """
    fleets = {
        row["deployment"]: row
        for row in reports.report("fleet", since=wanted.since, until=wanted.until).to_pylist()
    }
    declared = {one.name: one for one in settings.deployments}
    name = _choose(wanted.deployment, fleets, declared)
    row = fleets.get(name)
    known = _known(row, wanted, declared.get(name))
    fleet, notes = make_fleet(block, known)
    line, replicas = _line(reports, name, wanted, row)
    asked = recording.Asked(
        deployment=name,
        since=wanted.since,
        until=wanted.until,
        slots=replicas * fleet.pools[0].concurrency if replicas else None,
        replicas=replicas,
        service_model=read_service_model(wanted.service_model) if wanted.service_model else None,
    )
    load = recording.read_workload(reports, asked)
    recorded = Recorded()
    if row is not None and load.kind == "closed loop":
        price = known.usd_per_gpu_hour if block.usd_per_gpu_hour is None else block.usd_per_gpu_hour
        is_other = price != row["usd_per_gpu_hour"]
        load, recorded = _beside(load, row, line, reports, wanted)
        if is_other and price is not None:
            hours = Decimal(str(recorded.gpu_hours))
            recorded = recorded._replace(cost_usd=(hours * price).quantize(Decimal("1e-12")))
            notes.append(
                f"what ran is priced at {price} USD per GPU-hour too, which is not what the ledger says"
            )
    altered = Change(wanted.multiply, wanted.shift_s, wanted.burst, wanted.seed)
    if altered.is_any:
        load, recorded = change(load, altered), Recorded()
        notes.append(f"a made load: {altered.describe()}; it is compared with no recording")
    notes += load.notes
    slo = Slo(settings.slo.added_wait_s, settings.slo.share)
    return Case(load, fleet, look(load, fleet, replicas), slo, recorded), notes


def _choose(asked: str | None, fleets: dict[str, Any], declared: dict[str, Any]) -> str:
    if asked is not None:
        return asked
    names = sorted(fleets.keys() | declared.keys())
    if len(names) == 1:
        return str(names[0])
    message = (
        f"there are deployments {', '.join(names)}; say which with --deployment"
        if names
        else "no deployment has GPUs in that time; declare it in the settings or name it with --deployment"
    )
    raise NotFoundError(message)


def _known(row: dict[str, Any] | None, wanted: Wanted, declared: Any) -> Known:
    gpus = declared.gpus if declared else None
    price = wanted.usd_per_gpu_hour
    return Known(
        concurrency=wanted.concurrency
        or (row and row["concurrency"])
        or (declared.concurrency if declared else None),
        gpus_per_replica=(row and row["gpus_per_replica"]) or (gpus.per_replica if gpus else None),
        usd_per_gpu_hour=Decimal(price)
        if price is not None
        else (row["usd_per_gpu_hour"] if row else (gpus.usd_per_gpu_hour if gpus else None)),
    )


def _line(
    reports: recording.Reports, name: str, wanted: Wanted, row: dict[str, Any] | None
) -> tuple[list[dict[str, Any]], int | None]:
    if row is None:
        return [], None
    table = reports.report("fleet_line", deployment=name, since=wanted.since, until=wanted.until)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows, max((one["ready"] for one in rows), default=0) or None


def _beside(
    load: Workload,
    row: dict[str, Any],
    line: list[dict[str, Any]],
    reports: recording.Reports,
    wanted: Wanted,
) -> tuple[Workload, Recorded]:
    """Count the load's seconds from when the fleet was first held, and take what the fleet did with them."""
    from_ns, until_ns = (tables.instant_ns(row[name]) for name in ("from_at", "until_at"))
    start_ns = min(from_ns, load.start_ns)
    horizon_s = max((until_ns - start_ns) / 1e9, 0.0)
    moved = load.within(start_ns, horizon_s)
    ledger = reports.report(
        "gpu_ledger",
        group_by="deployment",
        deployment=row["deployment"],
        since=wanted.since,
        until=wanted.until,
    )
    states: dict[str, float] = {}
    for cell in ledger.to_pylist():
        states[cell["state"]] = states.get(cell["state"], 0.0) + cell["gpu_s"] / 3_600
    recorded = Recorded(
        cost_usd=row["cost_usd"],
        gpu_hours=row["gpu_s"] / 3_600,
        gpu_hours_by_state=states,
        line=tuple(((tables.instant_ns(one["at"]) - start_ns) / 1e9, one["ready"]) for one in line),
        gpu_coverage_ratio=row["coverage_ratio"],
    )
    return moved, recorded


def _unlike(policies: list[NamedBlocks]) -> list[NamedBlocks]:
    """Give policies of one name numbers, so that results can be told apart."""
    seen: dict[str, int] = {}
    found = []
    for policy in policies:
        name = policy.name or catalogue.title(*policy.block())
        seen[name] = seen.get(name, 0) + 1
        found.append(policy.model_copy(update={"name": name if seen[name] == 1 else f"{name}-{seen[name]}"}))
    return found


def _processes() -> int:
    return min(os.cpu_count() or 1, 8)


__all__ = ["Backtest", "Door", "Wanted", "backtest", "billing", "lint_files", "read_case", "workload"]
