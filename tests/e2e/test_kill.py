"""Nothing acknowledged is lost and nothing counts twice, whoever is killed and whenever."""

import itertools
import random
import threading
import time
from pathlib import Path

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from taximeter.testing import Programs, programs

SPANS_PER_REQUEST = 5
ROUNDS = 8
SECOND_NS = 1_000_000_000


def request_bytes(number: int) -> bytes:
    """Build one request of five model calls, one trace each, with ids made of the request's number."""
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for index in range(SPANS_PER_REQUEST):
        identity = number * SPANS_PER_REQUEST + index + 1
        span = spans.add(
            trace_id=identity.to_bytes(16, "big"),
            span_id=identity.to_bytes(8, "big"),
            name="chat m",
            start_time_unix_nano=1_790_000_000 * SECOND_NS + identity,
            end_time_unix_nano=1_790_000_001 * SECOND_NS + identity,
        )
        for key, value in (("gen_ai.operation.name", "chat"), ("gen_ai.request.model", "gpt-5-mini")):
            span.attributes.add(key=key).value.string_value = value
        span.attributes.add(key="gen_ai.usage.input_tokens").value.int_value = 100
        span.attributes.add(key="gen_ai.usage.output_tokens").value.int_value = 10
    return request.SerializeToString()


class Sender(threading.Thread):
    """Sends requests until told to stop; what was not acknowledged is sent again, as exporters do."""

    def __init__(self, running: Programs) -> None:
        super().__init__(daemon=True)
        self._running = running
        self._asked_to_stop = threading.Event()
        self.acknowledged = 0

    def run(self) -> None:
        with httpx.Client(timeout=2) as client:
            for number in itertools.count():
                body = request_bytes(number)
                while not self._sent(client, body):
                    if self._asked_to_stop.is_set():
                        return
                    time.sleep(0.05)
                self.acknowledged = number + 1
                if self._asked_to_stop.is_set():
                    return

    def _sent(self, client: httpx.Client, body: bytes) -> bool:
        try:
            answer = client.post(
                f"{self._running.otlp_url}/v1/traces",
                content=body,
                headers={"content-type": "application/x-protobuf"},
            )
        except httpx.HTTPError:
            return False
        return answer.status_code == 200

    def finish(self) -> int:
        """Stop and return how many requests were acknowledged."""
        self._asked_to_stop.set()
        self.join(timeout=30)
        return self.acknowledged


@pytest.mark.parametrize("seed", [1, 2])
def test_random_kills_lose_and_double_nothing(tmp_path: Path, seed: int) -> None:
    """Collector and warehouse are killed at random; in the end every acknowledged span counts once."""
    chance = random.Random(seed)
    with programs(tmp_path / "data") as running:
        running.start("collector")
        running.start("warehouse")
        sender = Sender(running)
        sender.start()
        for _ in range(ROUNDS):
            time.sleep(chance.uniform(0.05, 0.6))
            victim = chance.choice(["collector", "warehouse"])
            running.kill(victim)
            running.start(victim)
        acknowledged = sender.finish()
        sent = acknowledged * SPANS_PER_REQUEST

        def all_counted() -> bool:
            return len(running.report("tasks")) >= sent

        running.wait_until(all_counted, 120)
        tasks = running.report("tasks")

    ids = {int(row["task_id"], 16) for row in tasks}
    assert acknowledged > ROUNDS
    assert set(range(1, sent + 1)) <= ids
    assert len(tasks) == len(ids)
    assert {(row["llm_calls"], row["input_tokens"], row["output_tokens"]) for row in tasks} == {(1, 100, 10)}
