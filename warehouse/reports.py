"""Named reports: one SQL file each, with a header that says what it shows and which parameters it takes."""

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import duckdb
import pyarrow as pa

from taximeter.errors import BadInputError, NotFoundError, TaximeterError
from warehouse.parameters import Value, parse_default, parse_value
from warehouse.queries import FOLDER

REPORTS = FOLDER / "reports"
COMMON: dict[str, Value] = {"since_ns": 0, "until_ns": (1 << 63) - 1, "zone": "UTC"}
NOW = "now_ns"  # when the report is asked, unless its header declares a default of its own
_HEADER = re.compile(r"--\s*(grain|inputs|law|params):\s*(.*)")


class Report(NamedTuple):
    """A report as its file describes it."""

    name: str
    grain: str
    inputs: str
    law: str
    parameters: dict[str, Value]  # every name the SQL takes, with its default
    takes_now: bool  # the SQL takes the instant at which it is asked
    sql: str


def read_reports(folder: Path = REPORTS) -> dict[str, Report]:
    """Read every report of a folder, by name."""
    return {file.stem: _read(file) for file in sorted(folder.glob("*.sql"))}


def find_report(name: str, folder: Path = REPORTS) -> Report:
    """Read one report.

    Raises:
        NotFoundError: there is no report of that name; the text lists those that are.
    """
    names = sorted(file.stem for file in folder.glob("*.sql"))
    if name not in names:
        message = f"there is no report {name!r}; there are {', '.join(names)}"
        raise NotFoundError(message)
    return _read(folder / f"{name}.sql")


def run_report(
    cursor: duckdb.DuckDBPyConnection, report: Report, given: dict[str, Value], now_ns: int
) -> pa.Table:
    """Answer a report.

    Args:
        cursor: one that nobody else uses meanwhile.
        report: which.
        given: parameters by name, `since` and `until` among them; text is read by what the parameter holds.
        now_ns: what relative instants such as 24h are counted back from.

    Raises:
        BadInputError: a parameter that the report does not take, or a value that it cannot be.
    """
    values = bind(report, given, now_ns)
    try:
        return cursor.execute(report.sql, values).to_arrow_table()
    except duckdb.InvalidInputException as error:
        # What the SQL itself refuses begins with the report's name.
        told = str(error).partition(f"{report.name}: ")
        if not told[1]:
            raise
        raise BadInputError("".join(told[1:]).splitlines()[0]) from None
    except duckdb.InterruptException:
        raise
    except duckdb.Error as error:
        message = f"the report {report.name} failed: {str(error).splitlines()[0]}"
        raise TaximeterError(message) from error


def bind(report: Report, given: dict[str, Value], now_ns: int) -> dict[str, Value]:
    """Give every parameter of a report its value: the given one, else its default.

    `since`, `until` and `zone` may be given to any report; one that does not use them ignores them.

    Raises:
        BadInputError: a parameter that the report does not take, or a value that it cannot be.
    """
    values = {NOW: now_ns, **report.parameters} if report.takes_now else dict(report.parameters)
    for spelled, value in given.items():
        name = f"{spelled}_ns" if spelled in {"since", "until"} else spelled
        if name not in values and name not in COMMON:
            takes = ", ".join(sorted(values.keys() | {"since", "until", "zone"}))
            message = f"the report {report.name} takes no {spelled!r}; it takes {takes}"
            raise BadInputError(message)
        if value is not None:
            default = report.parameters.get(name, COMMON.get(name))
            parsed = parse_value(name, value, default, now_ns)
            if name in values:
                values[name] = parsed
    return values


@cache
def _read(file: Path) -> Report:
    sql = file.read_text(encoding="utf-8")
    matches = (_HEADER.fullmatch(line.strip()) for line in sql.splitlines())
    header = {match[1]: match[2] for match in matches if match}
    statements = duckdb.extract_statements(sql)
    if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
        message = f"{file.name} must hold one select"
        raise ValueError(message)
    own = dict(_declared(header.get("params", "")))
    known = COMMON | own
    takes_now = NOW in statements[0].named_parameters and NOW not in own
    used = statements[0].named_parameters - ({NOW} if takes_now else set())
    if used - known.keys() or own.keys() - used:
        message = f"{file.name}: params of its header and of its SQL differ: {sorted(used ^ own.keys())}"
        raise ValueError(message)
    return Report(
        name=file.stem,
        grain=header.get("grain", ""),
        inputs=header.get("inputs", ""),
        law=header.get("law", ""),
        parameters={name: known[name] for name in sorted(used)},
        takes_now=takes_now,
        sql=sql,
    )


def _declared(params: str) -> list[tuple[str, Value]]:
    pairs = [part.strip().partition("=") for part in params.split(",") if part.strip()]
    return [(name.strip(), parse_default(default.strip())) for name, _, default in pairs]
