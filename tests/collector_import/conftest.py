"""Real recordings, where they are, and small files to import."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from collector.decode import DecodeOptions, decode_block
from collector.formats.detect import detect
from collector.formats.parts import Bad, Part
from collector.formats.source import open_plain
from collector.importing import import_paths
from collector.journal.record import Record
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder
from warehouse.testing import Store, store

SHARED = Path(__file__).parents[3] / "shared"
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
NOON = 1_796_126_400_000_000_000


def _recorded(name: str) -> Path:
    folder = SHARED / "data" / name
    if not folder.is_dir():
        pytest.skip(f"the recordings {name} are not on this machine")
    return folder


@pytest.fixture
def agent_runs() -> Path:
    """The 38 recorded agent runs, their truth files and the oracle beside them."""
    return _recorded("otlp-agent-runs")


@pytest.fixture
def recorded() -> Callable[[str], Path]:
    """Find a folder of recordings by name; the test is skipped where it is missing."""
    return _recorded


@dataclass(frozen=True)
class MadeSpan:
    """One span of a request, with its attributes as plain values."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    start_ns: int
    end_ns: int
    failed: bool
    attributes: dict[str, Any]


@pytest.fixture
def read_file(tmp_path: Path) -> Callable[[Any], tuple[str | None, list[MadeSpan], list[Bad]]]:
    """Read a file (a path, bytes, text, or a list of documents to write as lines): format, spans, bad."""

    def read(content: Any) -> tuple[str | None, list[MadeSpan], list[Bad]]:
        path = content if isinstance(content, Path) else tmp_path / "file"
        if isinstance(content, list):
            content = "\n".join(json.dumps(document) for document in content)
        if not isinstance(content, Path):
            path.write_bytes(content.encode() if isinstance(content, str) else content)
        reading = detect(path, None, path.name)
        if reading is None:
            return None, [], []
        with open_plain(path) as file:
            items = list(reading.read(file))
        return reading.format, list(_spans(items)), [item for item in items if isinstance(item, Bad)]

    return read


def _spans(items: Iterable[Any]) -> Iterator[MadeSpan]:
    for item in items:
        if isinstance(item, Part):
            request = ExportTraceServiceRequest.FromString(item.payload)
            for resource in request.resource_spans:
                for scope in resource.scope_spans:
                    yield from map(_span, scope.spans)


def _span(span: Span) -> MadeSpan:
    return MadeSpan(
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        name=span.name,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        failed=span.status.code == Status.STATUS_CODE_ERROR,
        attributes={
            pair.key: getattr(pair.value, pair.value.WhichOneof("value") or "") for pair in span.attributes
        },
    )


@pytest.fixture
def warehouse_of(tmp_path: Path) -> Any:
    """Open a warehouse into which files were imported, computed as of a late day.

    `in_one_block` reads and decodes files as an import does, but together: many small ones are quicker so.
    """

    @contextmanager
    def opened(*paths: Path, in_one_block: bool = False) -> Iterator[Store]:
        root = tmp_path / "data"
        with store(root) as warehouse:
            if in_one_block:
                warehouse.load(decode_block([record for path in paths for record in _records(path)], OPTIONS))
            else:
                _import(root, paths)
                warehouse.load_inbox()
            warehouse.refresh(NOON)
            yield warehouse

    return opened


def _import(root: Path, paths: Iterable[Path]) -> None:
    summary = import_paths(paths, DataFolder(root), OPTIONS, ManualClock(NOON), lambda *_: None)
    assert [result for result in summary.files if result.outcome == "broken"] == []


def _records(path: Path) -> Iterator[Record]:
    reading = detect(path, None, path.name)
    assert reading is not None
    with open_plain(path) as file:
        for item in reading.read(file):
            assert not isinstance(item, Bad), item
            if isinstance(item, Part):
                yield Record(item.signal, "default", NOON, path.name, item.payload)
