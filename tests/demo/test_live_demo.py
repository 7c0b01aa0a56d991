"""What goes on after the simulated day: tasks and samples in real time, each sent when it has happened."""

import signal
import subprocess
import sys
import time
from pathlib import Path

from collector.agent.stop import Stop
from collector.decode import DecodeOptions, decode_block
from collector.demo.live import Live
from collector.demo.story import story
from collector.edge.testing import running_edges
from taximeter.clock import NS_PER_S, ManualClock

ROOT = Path(__file__).parents[2]
START_NS = 1_764_600_000 * NS_PER_S


class _UntilClock(ManualClock):
    """Asks to stop after that many seconds."""

    def __init__(self, seconds: float, stop: Stop) -> None:
        super().__init__(START_NS)
        self._end_ns = START_NS + round(seconds * NS_PER_S)
        self._stop = stop

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        if self.now_ns() >= self._end_ns:
            self._stop.ask()


def test_everything_is_sent_when_it_has_happened(tmp_path: Path) -> None:
    """In 20 minutes, tasks come and go, no span ends in the future, and cards busy only where calls ran."""
    stop = Stop()
    clock = _UntilClock(1200, stop)
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    with running_edges(tmp_path, max_request_bytes=16 << 20) as edges:
        Live(story(), edges.http_url, edges.grpc_target, clock).run(stop)
        tables = decode_block(edges.records(), options)
    spans, samples = tables["spans"].to_pylist(), tables["samples"].to_pylist()
    assert len({row["trace_id"] for row in spans}) >= 8
    assert all(START_NS <= row["start_ns"] <= row["end_ns"] <= clock.now_ns() for row in spans)
    assert all(row["simulated"] for row in [*spans, *samples])
    # What is still queued at the end is tried for some seconds only.
    early_ns = START_NS + 900 * NS_PER_S
    assert sum(row["metric"] == "up" and row["t_ns"] < early_ns for row in samples) == 11 * 900 // 5
    assert not [row for row in samples if (row["metric"], row["value"]) == ("up", 0)]
    served = [row for row in spans if row["replica"] is not None]
    busy = {row["t_ns"] for row in samples if row["metric"] == "util_ratio" and row["value"] > 0}
    ended = {t for t in busy if t < clock.now_ns() - 300 * NS_PER_S}
    assert ended
    for t_ns in ended:
        assert any(row["start_ns"] < t_ns and row["end_ns"] > t_ns - 5 * NS_PER_S for row in served)


def test_program_plays_on_until_it_is_told_to_stop(tmp_path: Path) -> None:
    """Started with --live alone it sends samples of every host at once, and SIGTERM ends it with status 0."""
    with running_edges(tmp_path / "data", max_request_bytes=16 << 20) as edges:
        where = ["--collector", edges.http_url, "--grpc", edges.grpc_target, "--data", str(tmp_path)]
        program = subprocess.Popen([sys.executable, "-m", "collector.demo", *where, "--live"], cwd=ROOT)
        deadline = time.monotonic() + 60
        while len(edges.records()) < 3 and time.monotonic() < deadline:
            time.sleep(0.1)
        program.send_signal(signal.SIGTERM)
        assert program.wait(30) == 0
        hosts = {b"node-a", b"node-b", b"node-c"}
        payloads = b"".join(record.payload for record in edges.records())
    assert all(host in payloads for host in hosts)


def test_collector_that_is_not_there_is_told_in_one_line(tmp_path: Path) -> None:
    """A day that nobody takes is a failure with a status, not a day that is silently missing."""
    where = ["--collector", "http://127.0.0.1:9", "--grpc", "127.0.0.1:9", "--data", str(tmp_path)]
    program = [sys.executable, "-m", "collector.demo", *where, "--until", str(START_NS)]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "demo: no collector listens" in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "demo-truth.json").exists()
