import http.client
import os
import random
import signal
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pyarrow.parquet as pq
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.edge.testing import CollectorProcess
from taximeter.layout import DataFolder

COLLECTOR_KILLS = 4
WORKER_KILLS = 4
SENDERS = 3
SPANS_PER_REQUEST = 4
CATCH_UP_S = 60


class Sender(threading.Thread):
    """Sends requests with ids that are used once; an id is noted when its request was answered with 200."""

    def __init__(self, where: CollectorProcess, stop: threading.Event) -> None:
        super().__init__(daemon=True)
        self.acknowledged: list[str] = []
        self._where = where
        self._stop_asked = stop

    def run(self) -> None:
        while not self._stop_asked.is_set():
            connection = http.client.HTTPConnection(self._where.http_url.removeprefix("http://"), timeout=30)
            try:
                while not self._stop_asked.is_set():
                    self._send(connection)
            except (OSError, http.client.HTTPException):
                time.sleep(0.1)  # killed just now: these ids were never acknowledged and are not used again
            finally:
                connection.close()

    def _send(self, connection: http.client.HTTPConnection) -> None:
        ids = [os.urandom(8) for _ in range(SPANS_PER_REQUEST)]
        request = ExportTraceServiceRequest()
        spans = request.resource_spans.add().scope_spans.add().spans
        for span_id in ids:
            spans.add(
                name="chat",
                trace_id=span_id * 2,
                span_id=span_id,
                start_time_unix_nano=10,
                end_time_unix_nano=20,
            )
        connection.request(
            "POST", "/v1/traces", request.SerializeToString(), {"Content-Type": "application/x-protobuf"}
        )
        answer = connection.getresponse()
        answer.read()
        if answer.status == 200:
            self.acknowledged += [span_id.hex() for span_id in ids]


def test_no_acknowledged_span_is_lost_or_doubled_by_kill_9(tmp_path: Path) -> None:
    """Whenever the collector or its decode process dies, acknowledged spans are in the inbox exactly once.

    And no decode process outlives its collector.
    """
    kills = ["collector"] * COLLECTOR_KILLS + ["worker"] * WORKER_KILLS
    random.shuffle(kills)
    stop = threading.Event()
    workers: list[int | None] = []
    with CollectorProcess(tmp_path) as collector:
        senders = [Sender(collector, stop) for _ in range(SENDERS)]
        for sender in senders:
            sender.start()
        for kill in kills:
            wait_for_more(senders)
            time.sleep(random.uniform(0, 0.5))
            worker = collector.worker_pid()
            workers.append(worker)
            if kill == "worker" and worker is not None:
                os.kill(worker, signal.SIGKILL)
            else:
                collector.kill()
                time.sleep(random.uniform(0, 0.1))
                collector.start()
        wait_for_more(senders)
        stop.set()
        for sender in senders:
            sender.join()
        wait_until_decoded(collector)
    sent = [span_id for sender in senders for span_id in sender.acknowledged]
    found = Counter(inbox_span_ids(collector.folder))
    assert len(sent) > 100
    assert [span_id for span_id in sent if span_id not in found] == []
    assert [span_id for span_id, times in found.items() if times > 1] == []
    assert list(collector.folder.quarantine.iterdir()) == []
    assert [pid for pid in workers if pid is not None and Path(f"/proc/{pid}").exists()] == []


def wait_for_more(senders: list[Sender]) -> None:
    """Wait until something more was acknowledged, so that every kill hits a program at work."""
    before = sum(len(sender.acknowledged) for sender in senders)
    deadline_s = time.monotonic() + CATCH_UP_S
    while sum(len(sender.acknowledged) for sender in senders) == before:
        assert time.monotonic() < deadline_s, "nothing is acknowledged any more"
        time.sleep(0.01)


def wait_until_decoded(collector: CollectorProcess) -> None:
    deadline_s = time.monotonic() + CATCH_UP_S
    while True:
        health = httpx.get(collector.http_url + "/healthz").json()
        if health["decoded_block"] >= health["durable_block"]:
            return
        assert time.monotonic() < deadline_s, health
        time.sleep(0.05)


def inbox_span_ids(folder: DataFolder) -> list[str]:
    files = folder.inbox.glob("*/spans.parquet")
    return [
        span_id for file in files for span_id in pq.ParquetFile(file).read(["span_id"])["span_id"].to_pylist()
    ]
