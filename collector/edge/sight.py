"""What the collector tells of itself at `/metrics`, in the form that Prometheus reads."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4, generate_latest

from collector.edge.refusal import RefusedError, reason_of
from collector.journal.commit import GroupCommit
from collector.journal.progress import read_loaded
from collector.journal.record import Signal
from taximeter.clock import NS_PER_S, Clock
from taximeter.layout import DataFolder

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_PREFIX = "taximeter_collector"
_SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 5.0)
_STAGES = ("durable", "decoded", "loaded")


class Sight:
    """Counts what is taken and refused, and reads how far the journal is whenever somebody looks."""

    def __init__(self, journal: GroupCommit, folder: DataFolder, clock: Clock) -> None:
        """Count from now on; the journal's commits are timed."""
        self._journal, self._folder, self._clock = journal, folder, clock
        self._registry = CollectorRegistry()
        self._requests = self._counter("requests", "Requests, by their answer", "signal", "answer")
        self._bytes = self._counter("taken_bytes", "Bytes of requests that are durable", "signal")
        self._dropped = self._counter("dropped", "Requests that were answered 200 and given up")
        self._dropped.inc(0)
        commits = Histogram(
            f"{_PREFIX}_commit_seconds",
            "Time to make a group of requests durable",
            buckets=_SECONDS,
            registry=self._registry,
        )
        journal.observe = commits.observe
        self._held = self._gauge("journal_bytes", "Bytes that the journal holds on disk and in memory")
        self._bound = self._gauge("journal_max_bytes", "Bytes that the journal may hold")
        self._block = self._gauge("journal_block", "The last block that is durable, decoded, loaded", "stage")
        self._age = self._gauge(
            "oldest_unloaded_seconds", "Age of the oldest request that is not loaded, else 0"
        )

    def taken(self, signal: Signal, size_bytes: int) -> None:
        """Count a request that is durable."""
        self._requests.labels(signal, "taken").inc()
        self._bytes.labels(signal).inc(size_bytes)

    def refused(self, signal: Signal, error: RefusedError) -> None:
        """Count a request that was not taken."""
        self._requests.labels(signal, reason_of(error)).inc()

    def page(self) -> bytes:
        """Write the page."""
        journal = self._journal
        loaded = read_loaded(self._folder, journal.name)
        self._held.set(journal.used_bytes)
        self._bound.set(journal.max_bytes)
        for stage, block in zip(_STAGES, (journal.durable, journal.decoded, loaded), strict=True):
            self._block.labels(stage).set(block)
        since_ns = journal.waiting_since_ns(loaded)
        self._age.set(0 if since_ns is None else max(0, self._clock.now_ns() - since_ns) / NS_PER_S)
        return generate_latest(self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(f"{_PREFIX}_{name}", about, labels, registry=self._registry)

    def _gauge(self, name: str, about: str, *labels: str) -> Gauge:
        return Gauge(f"{_PREFIX}_{name}", about, labels, registry=self._registry)
