"""Somebody's own log of requests, or series of request rates, read by a map that says what each column means.

A map is YAML. `columns` names the column (or, where the file has no header, the number from 0) of each
meaning; `values` gives what no column tells. `time` says what the time column holds: `iso`, or `s`, `ms`,
`us`, `ns` counted from the instant `zero`. `header: false` where the first line is data already.
"""

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import yaml

from collector.formats.parts import Bad
from taximeter.clock import NS_PER_S, to_ns
from taximeter.errors import BadInputError

MAPS = Path(__file__).parent / "maps"
_REQUEST = {"time", "id", "session", "user", "model", "deployment", "status"}
_REQUEST |= {"input_tokens", "cache_read_tokens", "output_tokens", "duration_s", "queue_s", "ttft_s"}
_RATE = {"time", "rate_per_s", "source", "deployment"}
_KEYS = {"kind", "time", "zero", "header", "columns", "values", "succeeded", "window_s"}
_UNITS_NS = {"s": NS_PER_S, "ms": 1_000_000, "us": 1_000, "ns": 1}
_ISO = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9})\d*)?(Z|[+-]\d\d:?\d\d)?")

Cells = Mapping[str, Any]


class Row(NamedTuple):
    """One line of the file: where it stands, and the cell of each meaning, None where it is empty."""

    where: str
    cells: Cells


class RequestMap(NamedTuple):
    """What the columns of a file mean."""

    kind: str  # requests, or rates
    time: str
    zero_ns: int
    header: bool
    columns: Mapping[str, str]
    values: Mapping[str, str]
    succeeded: frozenset[str]  # of the status column; empty: every request succeeded
    window_s: int  # of a rate: how long one holds

    def instant_ns(self, cell: Any) -> int:
        """Read the time cell of a row.

        Raises:
            ValueError: it is no time, or none that can be told to the nanosecond in 64 bits.
        """
        instant = _iso_ns(str(cell)) if self.time == "iso" else self._counted_ns(cell)
        if not 0 < instant < 1 << 63:
            message = f"{instant} ns is no time"
            raise ValueError(message)
        return instant

    def _counted_ns(self, cell: Any) -> int:
        try:
            return self.zero_ns + int(Decimal(str(cell)) * _UNITS_NS[self.time])
        except (InvalidOperation, OverflowError) as error:
            raise ValueError(str(error)) from None


def find_map(name: str) -> Path:
    """Find a map by the name of one that is shipped, or by its path.

    Raises:
        BadInputError: there is neither.
    """
    shipped = MAPS / f"{name}.yaml"
    path = shipped if shipped.is_file() else Path(name)
    if not path.is_file():
        names = ", ".join(sorted(file.stem for file in MAPS.glob("*.yaml")))
        message = f"there is no map {name!r}; name a file, or one of: {names}"
        raise BadInputError(message)
    return path


def read_map(path: Path) -> RequestMap:
    """Read a map.

    Raises:
        BadInputError: it is none; the text names the key that is wrong or missing.
    """
    try:
        said = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, yaml.YAMLError, UnicodeDecodeError):
        said = None
    if not isinstance(said, dict) or not isinstance(said.get("columns"), dict):
        message = f"map {path.name}: it must say which `columns` there are"
        raise BadInputError(message)
    kind = str(said.get("kind", "requests"))
    known = {"requests": _REQUEST, "rates": _RATE}.get(kind)
    _check(path, "kind", {kind} if known is None else set())
    meanings = said["columns"].keys() | said.get("values", {}).keys()
    _check(path, "keys", said.keys() - _KEYS)
    _check(path, "columns", meanings - (known or set()))
    time = str(said.get("time", "iso"))
    _check(path, "time", {time} - {"iso", *_UNITS_NS})
    needed = {"time"} | ({"rate_per_s"} if kind == "rates" else set())
    if missing := needed - said["columns"].keys():
        message = f"map {path.name}: no column for {', '.join(sorted(missing))}"
        raise BadInputError(message)
    return RequestMap(
        kind=kind,
        time=time,
        zero_ns=_zero_ns(path, said.get("zero")),
        header=bool(said.get("header", True)),
        columns={meaning: str(column) for meaning, column in said["columns"].items()},
        values={meaning: str(value) for meaning, value in said.get("values", {}).items()},
        succeeded=frozenset(map(str, said.get("succeeded", []))),
        window_s=int(said.get("window_s", 0)),
    )


def read_rows(file: BinaryIO, told: RequestMap) -> Iterator[Row | Bad]:
    """Read the rows of a CSV file, or of a file with one JSON object a line.

    Raises:
        BadInputError: the file lacks a column that the map names.
    """
    text = io.TextIOWrapper(file, encoding="utf-8-sig", errors="replace", newline="")
    try:
        first = text.readline()
        read = _json_lines if first.lstrip().startswith("{") else _csv_lines
        yield from read(first, text, told)
    finally:
        text.detach()  # the file is whoever's who opened it


def _csv_lines(first: str, rest: io.TextIOWrapper, told: RequestMap) -> Iterator[Row | Bad]:
    names = next(csv.reader([first])) if told.header else []
    places = {}
    for meaning, column in told.columns.items():
        if told.header and column not in names:
            message = f"there is no column {column!r}; there are {', '.join(names)}"
            raise BadInputError(message)
        places[meaning] = names.index(column) if told.header else int(column)
    lines = csv.reader(rest if told.header else _chain(first, rest))
    for number, cells in enumerate(lines, start=2 if told.header else 1):
        if not cells:
            continue
        where = f"line {number}"
        if len(cells) <= max(places.values()):
            yield Bad(where, f"{len(cells)} cells")
            continue
        found = {meaning: cells[place].strip() or None for meaning, place in places.items()}
        yield Row(where, {**told.values, **found})


def _json_lines(first: str, rest: io.TextIOWrapper, told: RequestMap) -> Iterator[Row | Bad]:
    for number, line in enumerate(_chain(first, rest), start=1):
        if not line.strip():
            continue
        try:
            held = json.loads(line, parse_float=Decimal)
            cells = {meaning: held.get(column) for meaning, column in told.columns.items()}
        except (ValueError, AttributeError, RecursionError):
            yield Bad(f"line {number}", "no JSON object")
            continue
        yield Row(f"line {number}", {**told.values, **cells})


def _chain(first: str, rest: io.TextIOWrapper) -> Iterator[str]:
    yield first
    yield from rest


def _iso_ns(text: str) -> int:
    match = _ISO.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no time"
        raise ValueError(message)
    instant = datetime.fromisoformat(match[1] + (match[3] or "+00:00"))
    return to_ns(instant) + int((match[2] or "").ljust(9, "0"))


def _zero_ns(path: Path, zero: Any) -> int:
    if zero is None:
        return 0
    try:
        if isinstance(zero, datetime):
            return to_ns(zero if zero.tzinfo else zero.replace(tzinfo=UTC))
        return _iso_ns(str(zero))
    except ValueError:
        message = f"map {path.name}: zero is an instant such as 2026-01-01T00:00:00Z"
        raise BadInputError(message) from None


def _check(path: Path, what: str, unknown: set[str]) -> None:
    if unknown:
        message = f"map {path.name}: unknown {what}: {', '.join(sorted(map(str, unknown)))}"
        raise BadInputError(message)
