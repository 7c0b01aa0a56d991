"""The page of all reports, written from the reports themselves.

Written anew by `python -m warehouse.report_page > docs/reports.md`.
"""

import sys
import tempfile
import tomllib
from pathlib import Path

from duckdb import DuckDBPyConnection

from taximeter.clock import SYSTEM_CLOCK
from taximeter.layout import DataFolder
from warehouse.migrate import migrate
from warehouse.owner import open_for_writing
from warehouse.reports import COMMON, Report, read_reports, run_report

_INTRODUCTION = """\
# Reports

Every report is one SQL file in `warehouse/sql/reports`. The same report answers `taximeter report NAME`,
`GET /v1/reports/NAME` (JSON, CSV, Parquet, Arrow), the pages, the alert rules and the planner. All take
`since` and `until` (`24h`, `7d`, `2026-11-01`, `2026-11-01T08:00Z`) and a time `zone`; more parameters stand
below, on the command line as `--param name=value`. Unknown is null, never 0. Times are UTC.

    taximeter report spend --since 7d --group-by agent
    taximeter report bursts --param window_s=60 --format csv
    curl 'http://127.0.0.1:8080/v1/reports/step_profile?deployment=qwen-coder'

A request log of your own becomes calls with a map of its columns; `collector/formats/maps` holds some:

    # orders.yaml
    time: ms
    zero: 2026-11-01T00:00:00Z
    columns: {time: at, input_tokens: prompt, output_tokens: answer, duration_s: took}
    values: {model: qwen-coder, deployment: qwen-coder}

    taximeter import orders.csv --as requests --map orders.yaml
"""


def glossary() -> dict[str, str]:
    """Read what columns mean."""
    with (Path(__file__).parent / "columns.toml").open("rb") as file:
        return tomllib.load(file)


def columns(connection: DuckDBPyConnection, report: Report) -> list[str]:
    """List the columns of a report, in their order."""
    with connection.cursor() as cursor:
        return list(run_report(cursor, report, {}, SYSTEM_CLOCK.now_ns()).column_names)


def write(connection: DuckDBPyConnection) -> str:
    """Write the page, from an open warehouse with or without rows."""
    parts = [_INTRODUCTION, "## Columns\n", "| column | meaning |\n|---|---|"]
    parts += [f"| `{name}` | {meaning} |" for name, meaning in sorted(glossary().items())]
    for name, report in sorted(read_reports().items()):
        own = {key: value for key, value in report.parameters.items() if key not in COMMON}
        given = ", ".join(f"`{key}={'' if value is None else value}`" for key, value in sorted(own.items()))
        parts.append(f"\n## {name}\n\nGrain: {report.grain}.")
        parts.append(f"Parameters: {given}." if given else "")
        parts.append("Columns: " + ", ".join(f"`{column}`" for column in columns(connection, report)) + ".")
    return "\n".join(part for part in parts if part) + "\n"


def main() -> None:
    """Print the page."""
    with tempfile.TemporaryDirectory() as folder:
        connection = open_for_writing(DataFolder(Path(folder)).make(), "1GB")
        with connection:
            migrate(connection)
            sys.stdout.write(write(connection))


if __name__ == "__main__":
    main()
