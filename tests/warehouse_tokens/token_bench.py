"""Many small made-up tasks in one warehouse: each case is a trace of its own, computed in one refresh."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from taximeter.clock import NS_PER_S
from taximeter.settings import Settings
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, Row, in_trace, spans

LATER_NS = START_NS + 86_400 * NS_PER_S


class Seen(NamedTuple):
    """What the warehouse made of the cases, by name of the case."""

    tasks: dict[str, Row]
    steps: dict[str, dict[str, Row]]  # by name of the span
    buckets: dict[str, dict[str, Row]]  # by bucket
    broken: list[str]

    def tokens(self, case: str) -> dict[str, int]:
        """Tell how many tokens of a task are in each bucket."""
        return {bucket: row["tokens"] for bucket, row in self.buckets[case].items()}

    def figures(self, case: str, *names: str) -> tuple[Any, ...]:
        """Tell some columns of a task."""
        return tuple(self.tasks[case][name] for name in names)


def trace_of(case: str) -> str:
    """Make the trace id of a case."""
    return hashlib.md5(case.encode(), usedforsecurity=False).hexdigest()


def look(path: Path, cases: Mapping[str, Sequence[Row]], settings: Settings | None = None) -> Seen:
    """Load all cases, refresh once, and read what came out."""
    with store(path, settings) as warehouse:
        load(warehouse, cases)
        warehouse.refresh(LATER_NS)
        return read(warehouse, cases)


def load(warehouse: Store, cases: Mapping[str, Sequence[Row]]) -> None:
    """Load each case as a trace of its own, all in one block."""
    warehouse.load(spans(*(row for case, rows in cases.items() for row in in_trace(trace_of(case), rows))))


def read(warehouse: Store, cases: Mapping[str, Sequence[Row]]) -> Seen:
    """Read the figures of the cases."""
    case_of = {trace_of(case): case for case in cases}
    tasks, steps, buckets = (rows_of(warehouse, table) for table in ("tasks", "steps", "task_buckets"))
    seen = Seen(
        tasks={case_of[row["task_id"]]: row for row in tasks},
        steps={case: {} for case in cases},
        buckets={case: {} for case in cases},
        broken=warehouse.check_laws(),
    )
    for row in steps:
        seen.steps[case_of[row["trace_id"]]][row["name"]] = row
    for row in buckets:
        seen.buckets[case_of[row["task_id"]]][row["bucket"]] = row
    return seen


def rows_of(warehouse: Store, table: str) -> list[Row]:
    """Read a table as rows."""
    with warehouse.connection.cursor() as cursor:
        rows: list[Row] = cursor.execute(f"from {table}").to_arrow_table().to_pylist()
    return rows
