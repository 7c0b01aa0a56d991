"""aider's analytics log: every `message_send` becomes a trace of one call.

The log names no process, and events of several interleave. A process is known by its running total: a call
belongs to the one whose total it continues. Aider writes 0 for a cost that it could not work out, so a 0 with
tokens is left out.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from collector.formats.documents import Document
from collector.formats.made import Made, Source, span_id_of, to_requests, trace_id_of
from collector.formats.parts import Bad, Part
from taximeter.clock import NS_PER_S

_SOURCE = Source("aider", "taximeter.import.aider")
_KEYS = {"event", "properties", "user_id", "time"}
_SENT = "message_send"
_SENDING = "message_send_starting"
_FIGURES = ("main_model", "prompt_tokens", "completion_tokens", "total_tokens")
_COST_STEP_USD = 1e-9


def is_aider(seen: Mapping[str, Any]) -> bool:
    """Tell by the keys of its lines whether a file is an analytics log."""
    return seen.keys() >= _KEYS and isinstance(seen["event"], str)


def read_aider(documents: Iterable[Document | Bad]) -> Iterator[Part | Bad]:
    """Turn the log into requests; events other than calls are passed over."""
    yield from to_requests(_SOURCE, _spans(documents))


def _spans(documents: Iterable[Document | Bad]) -> Iterator[Made | Bad]:
    before: Mapping[str, Any] = {}
    copies: Counter[bytes] = Counter()
    processes = _Processes()
    for document in documents:
        if isinstance(document, Bad):
            yield document
            continue
        event = document.value
        if event.get("event") == _SENT:
            try:
                yield _call(event, before, copies, processes)
            except (KeyError, TypeError, ValueError, OverflowError):
                yield Bad(document.where, "a call without time or properties")
        before = event


def _call(
    event: Mapping[str, Any], before: Mapping[str, Any], copies: Counter[bytes], processes: "_Processes"
) -> Made:
    told = dict(event["properties"])
    line = span_id_of(_SENT, dict(event))
    key = span_id_of(line.hex(), copies[line])
    copies[line] += 1
    end_ns = round(event["time"] * NS_PER_S)
    # Only a start that stands directly before is surely this call's own.
    is_own = before.get("event") == _SENDING and before.get("user_id") == event.get("user_id")
    return Made(
        trace_id=trace_id_of(_SOURCE.scope, key.hex()),
        span_id=key,
        parent_id=b"",
        name=f"{_SENT} {told.get('main_model')}",
        start_ns=round(before["time"] * NS_PER_S) if is_own else end_ns,
        end_ns=end_ns,
        attributes={
            "record": "call",
            **{f"properties.{name}": told.get(name) for name in _FIGURES},
            "properties.cost": _cost(told),
            "session_id": processes.find(str(event.get("user_id")), told, key.hex()),
            "user_id": event.get("user_id"),
        },
    )


def _cost(told: Mapping[str, Any]) -> Any:
    cost = told.get("cost")
    return None if cost == 0 and told.get("total_tokens") else cost


class _Processes:
    """The running totals of all processes so far, each with the name of its process."""

    def __init__(self) -> None:
        self._totals: dict[tuple[str, int], str] = {}

    def find(self, user: str, told: Mapping[str, Any], key: str) -> str | None:
        """Name the process of a call, a new one where it continues no total; None where nothing tells."""
        cost, total = told.get("cost"), told.get("total_cost")
        if not isinstance(cost, int | float) or not isinstance(total, int | float) or total <= 0:
            return None
        before = round((total - cost) / _COST_STEP_USD)
        near = [(user, before + shift) for shift in (0, -1, 1)] if before > 0 else []
        found = next((self._totals.pop(place) for place in near if place in self._totals), key)
        self._totals[user, round(total / _COST_STEP_USD)] = found
        return found
