"""Langfuse exports: an observation is the span that Langfuse's own SDK would have sent."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from collector.formats.langfuse_usage import read_cost, read_usage

Read = Callable[[Any], tuple[str | None, list[Any], list[Any]]]
TRACE = "0af7651916cd43dd8448eb211c80319c"
START_NS = 1_764_576_000_000_000_000


def _row(id_: str, **changes: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "traceId": TRACE,
        "parentObservationId": None,
        "type": "GENERATION",
        "name": "chat",
        "startTime": "2025-12-01T08:00:00.000Z",
        "endTime": "2025-12-01T08:00:02.000Z",
        "model": "gpt-4o",
        "usageDetails": {"input": 10, "output": 5, "total": 15},
        "costDetails": {"input": 0.1, "output": 0.2, "total": 0.3},
        **changes,
    }


def _told(span: Any, name: str) -> Any:
    text = span.attributes.get(f"langfuse.observation.{name}")
    return json.loads(text) if text else None


@pytest.mark.parametrize(
    "write",
    [
        lambda rows: {"trace": {"id": TRACE, "sessionId": "s", "observations": rows}, "observations": rows},
        lambda rows: {"trace": {"id": TRACE, "sessionId": "s"}, "observations": rows},
        lambda rows: {"id": TRACE, "sessionId": "s", "projectId": "p", "observations": rows},
        lambda rows: {"data": [{**row, "sessionId": "s"} for row in rows], "meta": {"page": 1}},
        lambda rows: [{**row, "sessionId": "s"} for row in rows],
    ],
)
def test_every_form_of_export_gives_the_same_spans(read_file: Read, write: Any) -> None:
    """A trace with its observations once or twice, an answer of the API, and bare rows are read alike."""
    rows = [_row("00f067aa0ba902b7"), _row("b7ad6b7169203331", parentObservationId="00f067aa0ba902b7")]

    format_, spans, bad = read_file(json.dumps(write(rows)))

    assert (format_, bad) == ("langfuse-json", [])
    assert [(span.trace_id, span.span_id, span.parent_id) for span in spans] == [
        (TRACE, "00f067aa0ba902b7", ""),
        (TRACE, "b7ad6b7169203331", "00f067aa0ba902b7"),
    ]
    assert {span.attributes["session.id"] for span in spans} == {"s"}
    assert {(span.start_ns - START_NS, span.end_ns - span.start_ns) for span in spans} == {(0, 2_000_000_000)}
    assert _told(spans[0], "usage_details") == {"input": 10, "output": 5, "total": 15}
    assert _told(spans[0], "cost_details") == {"total": 0.3}


def test_rows_of_a_file_export_are_read_in_their_spelling(read_file: Read) -> None:
    """Snake case says what camel case says."""
    row = {
        "id": "00f067aa0ba902b7",
        "trace_id": TRACE,
        "parent_observation_id": None,
        "type": "GENERATION",
        "start_time": "2025-12-01 08:00:00.000",
        "end_time": "2025-12-01 08:00:02.000",
        "usage_details": {"input": 10},
        "provided_model_name": "gpt-4o",
    }

    _, (span,), _ = read_file(json.dumps([row]))

    assert (span.trace_id, span.end_ns - START_NS) == (TRACE, 2_000_000_000)
    assert span.attributes["langfuse.observation.model.name"] == "gpt-4o"
    assert _told(span, "usage_details") == {"input": 10}


def test_ids_of_other_kinds_keep_their_tree(read_file: Read) -> None:
    """Names in the place of ids get ids that are the same in every file, and parents are still found."""
    rows = [_row("root", traceId="my trace"), _row("child", traceId="my trace", parentObservationId="root")]

    _, (root, child), _ = read_file(json.dumps(rows))

    assert child.parent_id == root.span_id
    assert (len(root.trace_id), len(root.span_id)) == (32, 16)
    assert read_file(json.dumps(rows[1:]))[1][0].trace_id == root.trace_id


@pytest.mark.parametrize(
    ("row", "usage"),
    [
        ({"usageDetails": {}, "inputUsage": 0, "outputUsage": 0, "totalUsage": 0}, None),
        ({"usageDetails": {"input": 5, "total": 5}}, {"input": 5, "total": 5}),
        ({"inputUsage": 7, "outputUsage": 0}, {"input": 7}),
        ({"promptTokens": 7, "completionTokens": 2}, {"input": 7, "output": 2}),
        (
            {"usage": {"input": 7, "output": 2, "total": 9, "unit": "TOKENS"}},
            {"input": 7, "output": 2, "total": 9},
        ),
        ({"usage": {"input": 700, "output": 2, "unit": "CHARACTERS"}}, None),
        (
            {"usageDetails": {"input": 5, "input_audio": 2, "input_cached_tokens": 3, "output": 1}},
            {"input": 7, "input_cache_read": 3, "output": 1},
        ),
        (
            {"usageDetails": {"input": 5, "output": 1, "output_reasoning_tokens": 4, "output_audio": 2}},
            {"input": 5, "output": 3, "output_reasoning": 4},
        ),
        (
            {"usageDetails": {"input": 1, "input_cache_creation_5m": 2, "input_cache_creation_1h": 3}},
            {"input": 1, "input_cache_creation": 5},
        ),
    ],
)
def test_usage_is_what_langfuse_knows_and_nothing_for_its_zeros(
    row: dict[str, Any], usage: dict[str, Any] | None
) -> None:
    """Zeros where there is no usage are none; buckets add up; what is no token count is none."""
    assert read_usage(row) == usage


def test_details_of_other_sources_are_parts_of_the_whole() -> None:
    """Cached and reasoning tokens that came as details lie inside of input and output."""
    told = {"input": 9, "output": 5, "prompt_details.cache_read": 8, "completion_details.reasoning": 4}

    usage = read_usage({"usageDetails": told})

    assert usage is not None
    assert (usage["prompt_tokens"], usage["prompt_tokens_details"]) == (9, {"cached_tokens": 8})
    assert (usage["completion_tokens"], usage["completion_tokens_details"]) == (5, {"reasoning_tokens": 4})


def test_a_cost_that_langfuse_did_not_work_out_is_unknown() -> None:
    """The 0 that stands beside empty cost details is no cost; a told total of 0 is one."""
    assert read_cost({"costDetails": {}, "totalCost": 0}) is None
    assert read_cost({"costDetails": {"total": 0}}) == {"total": 0}
    assert read_cost({"calculatedTotalCost": 0.5}) == {"total": 0.5}


def test_an_observation_without_id_or_time_costs_itself_alone(read_file: Read) -> None:
    """The others of its trace go in, and the bad one is told."""
    rows = [_row("00f067aa0ba902b7"), _row("b7ad6b7169203331", startTime="soon"), _row("b7ad6b7169203332")]

    _, spans, bad = read_file(json.dumps({"trace": {"id": TRACE}, "observations": rows}))

    assert (len(spans), len(bad)) == (2, 1)


def _halves(number: int, *, unsigned: bool = False) -> dict[str, Any]:
    low, high = number % 2**32, number // 2**32 % 2**32
    signed = [half - 2**32 if half >= 2**31 else half for half in (low, high)]
    return {"low": signed[0], "high": signed[1], "unsigned": unsigned}


def _buffer(text: str) -> dict[str, Any]:
    return {"type": "Buffer", "data": list(bytes.fromhex(text))}


def _printed(**changes: Any) -> dict[str, Any]:
    span = {
        "traceId": _buffer(TRACE),
        "spanId": _buffer("00f067aa0ba902b7"),
        "name": "chat",
        "kind": 3,
        "startTimeUnixNano": _halves(START_NS, unsigned=True),
        "endTimeUnixNano": _halves(START_NS + 5, unsigned=True),
        "attributes": [
            {"key": "count", "value": {"intValue": _halves(187)}},
            {"key": "debt", "value": {"intValue": _halves(-2)}},
            {"key": "raw", "value": {"bytesValue": _buffer("0001ff")}},
        ],
        **changes,
    }
    return {"resource": {"attributes": []}, "scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}


@pytest.mark.parametrize("write", [lambda one: one, lambda one: [one], lambda one: {"resourceSpans": [one]}])
def test_buffers_and_halves_become_ids_and_numbers(read_file: Read, write: Any) -> None:
    """OTLP as protobufjs prints it: an entry, a list of them, or a whole request."""
    format_, (span,), bad = read_file(json.dumps(write(_printed()), indent=1))

    assert (format_, bad) == ("otlp-protobufjs", [])
    assert (span.trace_id, span.span_id) == (TRACE, "00f067aa0ba902b7")
    assert (span.start_ns, span.end_ns) == (START_NS, START_NS + 5)
    assert span.attributes == {"count": 187, "debt": -2, "raw": base64.b64decode("AAH/")}


def test_a_broken_entry_costs_itself_alone(read_file: Read) -> None:
    """An entry that cannot be OTLP is told with its line, the next one goes in."""
    _, spans, bad = read_file([_printed(), _printed(startTimeUnixNano="soon"), _printed()])

    assert (len(spans), [item.where for item in bad]) == (2, ["line 2"])
