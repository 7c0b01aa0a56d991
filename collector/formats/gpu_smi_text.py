"""What `nvidia-smi` printed as text: `-q` logs, query tables, or a file in which both lie among other things.

Every log and every table becomes samples of its own instant; all else in the file is passed over.
"""

import io
import re
from collections.abc import Iterator, Mapping
from typing import BinaryIO

import pyarrow as pa

from collector.formats.gpu_columns import find_columns
from collector.formats.gpu_samples import read_csv, to_tables
from collector.formats.gpu_smi_xml import iso_time
from taximeter.errors import BadInputError

Tables = dict[str, pa.Table]

_LOG = "==NVSMI LOG=="
_COMMAND = "# $ nvidia-smi"  # the heading of a section of a capture
_GPU = re.compile(r"GPU ([0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f])")
_PAIR = re.compile(r"(?P<indent> *)(?P<key>[^:]+?) *(?: : (?P<value>.*))?")
_LONGEST_LINE = 1024 * 1024
# Names are those of the query mode; of several places the first that tells a figure counts.
_PLACES = {
    "uuid": ("gpu uuid",),
    "name": ("product name",),
    "utilization.gpu": ("utilization/gpu",),
    "utilization.memory": ("utilization/memory",),
    "memory.total": ("fb memory usage/total",),
    "memory.used": ("fb memory usage/used",),
    "memory.reserved": ("fb memory usage/reserved",),
    "power.draw": (
        "gpu power readings/power draw",
        "gpu power readings/average power draw",
        "gpu power readings/instantaneous power draw",
        "power readings/power draw",
    ),
    "power.limit": (
        "gpu power readings/current power limit",
        "gpu power readings/power limit",
        "power readings/power limit",
    ),
}
_COLUMNS = ("time", "bus_id", "pid", *_PLACES, "process_memory_mib")
_PROCESS = "processes/process id"
_PROCESS_MEMORY = ("processes/process id/used gpu memory", "processes/used gpu memory")
_NOTHING = {"", "n/a", "not available in wddm driver model"}

Row = dict[str, str | None]


def is_smi_text(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is such text."""
    text = head.decode("utf-8", "replace")
    return _LOG in text or _COMMAND in text


def read_smi_text(file: BinaryIO, zone: str | None, where: str) -> Iterator[Tables]:
    """Hand on tables of samples and of refused figures, one pair for each log and each table found.

    Times have no zone: they are read in `zone`, and name no instant where that is None.

    Raises:
        BadInputError: the file holds neither a log nor a table, or a line longer than any of these.
    """
    found = False
    for block in _blocks(file):
        found = True
        if _LOG in block[0]:
            yield _of_log(block, zone, where)
        else:
            text = ("\n".join(block) + "\n").encode()
            yield from read_csv(io.BytesIO(text), text, zone, where)
    if not found:
        message = "neither an nvidia-smi -q log nor a query table"
        raise BadInputError(message)


def _blocks(file: BinaryIO) -> Iterator[list[str]]:
    """Cut out logs and tables: a log ends before a heading or the next log, a table at an empty line."""
    block: list[str] = []
    for line in _lines(file):
        starts_log = _LOG in line
        is_over = starts_log or line.startswith("#") or (not line.strip() and _is_table(block))
        if block and is_over:
            yield block
            block = []
        if starts_log or (not block and _is_header(line)) or (block and not is_over):
            block.append(line)
    if block:
        yield block


def _lines(file: BinaryIO) -> Iterator[str]:
    while line := file.readline(_LONGEST_LINE):
        if len(line) == _LONGEST_LINE:
            message = f"a line of more than {_LONGEST_LINE:,} bytes"
            raise BadInputError(message)
        yield line.decode("utf-8", "replace").rstrip("\r\n")


def _is_table(block: list[str]) -> bool:
    return bool(block) and _LOG not in block[0]


def _is_header(line: str) -> bool:
    return line.startswith("timestamp,") and find_columns(line.split(",")).is_complete


def _of_log(block: list[str], zone: str | None, where: str) -> Tables:
    head, *cards = _parts(block)
    if not cards:
        message = "no GPU in an nvidia-smi -q log"
        raise BadInputError(message)
    time = iso_time(dict(head).get("timestamp", ""))
    rows: list[Row] = [{**row, "time": time} for card in cards for row in _rows(card)]
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in _COLUMNS}
    return to_tables(pa.RecordBatch.from_pydict(columns), zone, where)


def _parts(block: list[str]) -> list[list[tuple[str, str]]]:
    """Part a log into what stands before the first card, and each card."""
    parts: list[list[tuple[str, str]]] = [[]]
    for path, value in _pairs(block):
        if _GPU.fullmatch(path):
            parts.append([])
        parts[-1].append((path, value))
    return parts


def _rows(pairs: list[tuple[str, str]]) -> Iterator[Row]:
    """Yield a row of the card and one of each process on it."""
    card: dict[str, str] = {}
    processes: list[Row] = []
    for path, value in pairs:
        if path == _PROCESS:
            processes.append({"pid": value})
        elif path in _PROCESS_MEMORY and processes:
            processes[-1]["process_memory_mib"] = _figure(value)
        else:
            card.setdefault(path, value)
    identity = {"bus_id": pairs[0][0].removeprefix("GPU "), "uuid": card.get("gpu uuid")}
    yield identity | {name: _told(card, places) for name, places in _PLACES.items()}
    for process in processes:
        yield identity | process


def _pairs(block: list[str]) -> Iterator[tuple[str, str]]:
    """Yield every key with its headings before it, lower case below the card's own line."""
    above: list[tuple[int, str]] = []
    for line in block:
        if _GPU.fullmatch(line.rstrip()):
            above = []
            yield line.rstrip(), ""
            continue
        found = _PAIR.fullmatch(line.rstrip())
        if not found:
            continue
        indent = len(found["indent"])
        while above and above[-1][0] >= indent:
            above.pop()
        key = found["key"].strip().lower()
        yield "/".join([*(name for _, name in above), key]), (found["value"] or "").strip()
        above.append((indent, key))


def _told(card: Mapping[str, str], places: tuple[str, ...]) -> str | None:
    return next((told for place in places if (told := _figure(card.get(place, ""))) is not None), None)


def _figure(value: str) -> str | None:
    return None if value.lower() in _NOTHING else value
