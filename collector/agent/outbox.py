"""What was sampled and is not acknowledged yet: a line of requests, and the thread that empties it."""

import gzip
import threading
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple

import httpx
from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceResponse

from collector.agent.spool import LIMIT_BYTES, MemorySpool, Spool, Waiting
from taximeter.clock import Clock

PATH = "/v1/metrics"
_COMPRESS_LEVEL = 1  # samples repeat themselves: a higher level costs time and gains little
_TIMEOUT_S = 10.0
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 30.0
_RETRYABLE = {408, 429, 502, 503, 504}
_MENDABLE = {401, 403, 404}  # a token or an address that somebody will put right: until then samples are kept

Fate = Literal["sent", "again", "refused"]


class Answer(NamedTuple):
    """How one attempt to send ended; `wait_s` is what the receiver asked for, `why` is for a person."""

    fate: Fate
    wait_s: float | None = None
    why: str = ""


class Outbox:
    """Sends request bodies in order, keeps them while nobody answers, and drops the oldest when full.

    A body is gone only when it is acknowledged, refused for good, or pushed out by newer ones; the last two
    are counted and told. One that was acknowledged while this program died is sent again: its points are
    known by card, metric and time, so they count once. `clock` times the pauses between attempts.
    """

    def __init__(
        self,
        url: str,
        clock: Clock,
        tell: Callable[[str], None],
        *,
        headers: Mapping[str, str] | None = None,
        limit_bytes: int = LIMIT_BYTES,
        spool: Spool | None = None,
    ) -> None:
        """Keep what waits in `spool`, by default in memory up to `limit_bytes`."""
        self._target = url.rstrip("/") + PATH
        self._clock = clock
        self._tell = tell
        self._client = httpx.Client(timeout=_TIMEOUT_S, headers=dict(headers or {}), trust_env=False)
        self._spool = MemorySpool(limit_bytes) if spool is None else spool
        self._change = threading.Condition()
        self._closing = False
        self._given_up = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="agent-outbox", daemon=True)

    @property
    def waiting(self) -> int:
        """Requests that are not delivered yet."""
        return len(self._spool)

    def open(self) -> None:
        """Start sending."""
        self._thread.start()

    def put(self, request: bytes) -> None:
        """Queue one serialized request; waits for nobody but the disk, where there is one."""
        dropped = self._spool.put(gzip.compress(request, _COMPRESS_LEVEL))
        with self._change:
            if dropped and not self.dropped:
                self._tell(
                    "the collector does not answer and there is no more room: the oldest samples are dropped"
                )
            self.dropped += dropped
            self._change.notify()

    def close(self, patience_s: float) -> int:
        """Try for that long to send what is left; return how many requests stay unsent."""
        with self._change:
            self._closing = True
            self._change.notify()
        self._thread.join(patience_s)
        self._given_up = True
        self._client.close()
        self._spool.close()
        return self.waiting

    def _run(self) -> None:
        wait_s = _FIRST_WAIT_S
        told = False
        while waiting := self._next():
            answer = self._post(waiting.body)
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
            self._spool.done(waiting.place)

    def _next(self) -> Waiting | None:
        with self._change:
            while (first := self._spool.first()) is None and not self._closing:
                self._change.wait()
            return first

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
        if response.status_code in _RETRYABLE | _MENDABLE:
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
