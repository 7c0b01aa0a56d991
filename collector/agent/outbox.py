"""What was sampled and is not acknowledged yet: a bounded queue in memory and the thread that empties it."""

import gzip
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import httpx
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from taximeter.clock import Clock

PATH = "/v1/metrics"
LIMIT_BYTES = 64 << 20
_COMPRESS_LEVEL = 1  # samples repeat themselves: a higher level costs time and gains little
_TIMEOUT_S = 10.0
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_RETRYABLE = {408, 429, 502, 503, 504}

Fate = Literal["sent", "again", "refused"]


class Answer(NamedTuple):
    """How one attempt to send ended; `wait_s` is what the receiver asked for, `why` is for a person."""

    fate: Fate
    wait_s: float | None = None
    why: str = ""


class Outbox:
    """Sends request bodies in order, keeps them while nobody answers, and drops the oldest when full.

    A body is gone only when it is acknowledged, refused for good, or pushed out by newer ones; the last two
    are counted and told. `clock` times the pauses between attempts.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        tell: Callable[[str], None],
        *,
        headers: Mapping[str, str] | None = None,
        limit_bytes: int = LIMIT_BYTES,
    ) -> None:
        self._target = url.rstrip("/") + PATH
        self._clock = clock
        self._tell = tell
        self._limit_bytes = limit_bytes
        self._client = httpx.Client(timeout=_TIMEOUT_S, headers=dict(headers or {}), trust_env=False)
        self._waiting: deque[bytes] = deque()
        self._bytes = 0
        self._change = threading.Condition()
        self._closing = False
        self._given_up = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="agent-outbox", daemon=True)

    def open(self) -> None:
        """Start sending."""
        self._thread.start()

    def put(self, request: bytes) -> None:
        """Queue one serialized request; never waits."""
        body = gzip.compress(request, _COMPRESS_LEVEL)
        with self._change:
            self._waiting.append(body)
            self._bytes += len(body)
            while self._bytes > self._limit_bytes and len(self._waiting) > 1:
                self._bytes -= len(self._waiting.popleft())
                self.dropped += 1
                if self.dropped == 1:
                    self._tell(
                        "the collector does not answer and memory is full: the oldest samples are dropped"
                    )
            self._change.notify()

    def close(self, patience_s: float) -> int:
        """Try for that long to send what is left; return how many requests stay unsent."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(patience_s)
        self._given_up = True
        self._client.close()
        return len(self._waiting)

    def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        told = False
        while body := self._next():
            answer = self._post(body)
            if answer.fate == "again" and self._given_up:
                return
            if answer.fate == "again":
                if not told:
                    self._tell(f"{self._target} does not take samples ({answer.why}); kept, trying again")
                told = True
                self._pause(answer.wait_s if answer.wait_s is not None else wait_s)
                wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
                continue
            if answer.fate == "refused":
                self.dropped += 1
            if answer.why:
                self._tell(answer.why)
            wait_s, told = _FIRST_WAIT_S, False
            self._done(body)

    def _next(self) -> bytes | None:
        with self._change:
            while not self._waiting and not self._closing:
                self._change.wait()
            return self._waiting[0] if self._waiting else None

    def _done(self, body: bytes) -> None:
        with self._change:
            # It may have been pushed out while it was on its way.
            if self._waiting and self._waiting[0] is body:
                self._waiting.popleft()
                self._bytes -= len(body)

    def _pause(self, seconds: float) -> None:
        with self._change:
            if not self._closing:
                self._change.wait_for(lambda: self._closing, timeout=seconds)
                return
        self._clock.sleep(min(seconds, _FIRST_WAIT_S))

    def _post(self, body: bytes) -> Answer:
        headers = {"content-type": "application/x-protobuf", "content-encoding": "gzip"}
        try:
            response = self._client.post(self._target, content=body, headers=headers)
        except (httpx.HTTPError, RuntimeError) as error:  # RuntimeError: the client was closed while it sent
            return Answer("again", why=str(error) or type(error).__name__)
        if response.is_success:
            return Answer("sent", why=_partial(response.content))
        if response.status_code in _RETRYABLE:
            return Answer("again", _retry_after_s(response), f"status {response.status_code}")
        return Answer("refused", why=f"the collector refused samples for good: status {response.status_code}")


def _retry_after_s(response: httpx.Response) -> float | None:
    value = response.headers.get("retry-after", "")
    return min(float(value), _LONGEST_WAIT_S) if value.isdigit() else None


def _partial(body: bytes) -> str:
    """Say what the receiver left out of a request that it took."""
    try:
        left_out = ExportMetricsServiceResponse.FromString(body).partial_success
    except DecodeError:
        return ""
    if not left_out.rejected_data_points:
        return ""
    return f"the collector left out {left_out.rejected_data_points} points: {left_out.error_message}"
