"""Doubles and helpers for tests of rules and channels: series of values, a warehouse of tables, a receiver.

Series are written as in `0 30x2 60+30x3 stale _`: a value, a value repeated so many times more, a value and
so many steps of an increment more, a row that is there but old, and no row. `null` is an absent value.
"""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal, NamedTuple
from urllib.parse import urlsplit

import pyarrow as pa
import pyarrow.ipc

from alerts.look import observe
from alerts.rule import LoadedRule
from alerts.states import Labels, State, step
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.errors import TaximeterError

START_NS = 1_796_126_400 * NS_PER_S
Point = float | None | Literal["stale", "missing"]
_STEPS = re.compile(r"(-?\d+(?:\.\d+)?)(?:([+-]\d+(?:\.\d+)?))?(?:x(\d+))?")


def read_series(text: str) -> list[Point]:
    """Read the notation of a series into one point per look.

    Raises:
        ValueError: a word of it is none of the notation.
    """
    points: list[Point] = []
    for word in text.split():
        points += _word(word)
    return points


def _word(word: str) -> list[Point]:
    if word in {"_", "stale", "null"}:
        return [{"_": "missing", "stale": "stale"}.get(word)]  # type: ignore[list-item]
    match = _STEPS.fullmatch(word)
    if match is None:
        message = f"{word!r} is no part of a series"
        raise ValueError(message)
    first, increment, times = float(match[1]), float(match[2] or 0), int(match[3] or 0)
    return [first + increment * number for number in range(times + 1)]


class Told(NamedTuple):
    """An event of a played rule: at which second, of which kind, for which labels."""

    at_s: float
    kind: str
    labels: Labels


def play(
    loaded: LoadedRule,
    column: str,
    series: Mapping[str, str],
    *,
    member: str = "gpu_id",
    interval_s: float = 30.0,
    constant: Mapping[str, Any] | None = None,
) -> list[Told]:
    """Play a rule over series of one column, one per member; `constant` fills other columns of every row.

    A look at which every series says `_` finds no answer at all: nobody could look.
    """
    points = {name: read_series(text) for name, text in series.items()}
    states: dict[Labels, State] = {}
    told: list[Told] = []
    for number in range(max(map(len, points.values()))):
        now_ns = START_NS + round(number * interval_s * NS_PER_S)
        now = {name: values[number] for name, values in points.items() if number < len(values)}
        rows = [
            {**(constant or {}), member: name, **_cells(loaded, column, point, now_ns)}
            for name, point in now.items()
            if point != "missing"
        ]
        observation = observe(loaded, pa.Table.from_pylist(rows), now_ns) if rows else None
        states, events = step(loaded.rule, observation, states, now_ns)
        told += [Told(number * interval_s, event.kind, event.labels) for event in events]
    return told


def _cells(loaded: LoadedRule, column: str, point: Point, now_ns: int) -> dict[str, Any]:
    fresh = loaded.rule.fresh
    cells: dict[str, Any] = {column: None if point == "stale" else point}
    if fresh:
        old_ns = round((fresh.within + 1) * NS_PER_S) if point == "stale" else 0
        cells[fresh.column] = to_datetime(now_ns - old_ns)
    return cells


class Tables:
    """A warehouse that answers from tables; a name without a table does not answer."""

    def __init__(self, tables: Mapping[str, pa.Table] | None = None) -> None:
        """Take the first answers; change them through `tables`."""
        self.tables = dict(tables or {})
        self.asked: list[tuple[str, dict[str, Any]]] = []

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        """Answer with the table of that name."""
        self.asked.append((name, params))
        if name not in self.tables:
            message = f"there is no report {name}"
            raise TaximeterError(message)
        return self.tables[name]


class Received(NamedTuple):
    """One request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes


class Receiver:
    """A real HTTP server on loopback that keeps what arrives, answers as it is told, and serves reports."""

    def __init__(self) -> None:
        """Answer 200 until `answers` says otherwise."""
        self.received: list[Received] = []
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.tables: dict[str, pa.Table] = {}
        self.may_answer = threading.Event()  # while not set, requests are taken and wait for their answer
        self.may_answer.set()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        """Stop listening."""
        self.may_answer.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                headers = {key.lower(): value for key, value in self.headers.items()}
                receiver.received.append(Received(self.path, headers, body))
                receiver.may_answer.wait()
                status, extra = receiver.answers.pop(0) if receiver.answers else (200, {})
                self._answer(status, b"ok", extra)

            def do_GET(self) -> None:
                name = urlsplit(self.path).path.rpartition("/")[2]
                if name not in receiver.tables:
                    self._answer(404, b'{"error": "there is no such report"}', {})
                    return
                sink = pa.BufferOutputStream()
                with pa.ipc.new_stream(sink, receiver.tables[name].schema) as writer:
                    writer.write_table(receiver.tables[name])
                self._answer(200, sink.getvalue().to_pybytes(), {})

            def _answer(self, status: int, content: bytes, extra: Mapping[str, str]) -> None:
                self.send_response(status)
                for key, value in {**extra, "content-length": str(len(content))}.items():
                    self.send_header(key, value)
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: Any) -> None:
                return

        return Handler


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listen until the block ends."""
    receiver = Receiver()
    try:
        yield receiver
    finally:
        receiver.close()
