"""Content never leaves decode: a planted text is nowhere in what is written."""

import json
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode import decode_block
from collector.decode.testing import (
    OPTIONS,
    START_NS,
    any_value,
    decode_rows,
    decode_span,
    make_record,
    make_request,
    make_span,
    pairs,
)
from collector.decode.wanted import wanted
from collector.inbox import write_block
from taximeter.layout import DataFolder

PLANTED = "zyx9 the launch code is umbrella zyx9"
FORMS: tuple[Any, ...] = (
    PLANTED,
    json.dumps([{"role": "user", "content": PLANTED}]),
    json.dumps({"messages": [{"role": "user", "content": PLANTED}], "usage": {"input_tokens": PLANTED}}),
    [{"role": "user", "content": PLANTED}],
)
# A mark that makes a span one of each dialect, so that its readers look at the planted content.
MARKS: dict[str, dict[str, Any]] = {
    "otel_genai": {"gen_ai.operation.name": "chat"},
    "openinference": {"openinference.span.kind": "LLM"},
    "openllmetry": {"traceloop.span.kind": "tool"},
    "vercel_ai": {"ai.operationId": "ai.toolCall"},
    "mlflow": {"mlflow.spanType": '"TOOL"'},
    "langfuse": {"langfuse.observation.type": "generation"},
    "langsmith": {"langsmith.span.kind": "tool"},
    "unknown": {},
}
SCOPES = ("gcp.vertex.agent", "pydantic-ai", "strands.telemetry.tracer", "gemini-cli", "crewai")


def _content_keys() -> list[str]:
    """Name every attribute that some dialect reads as content, with an index where it is a list."""
    wants = wanted()
    spread = [f"{prefix}{index}.content" for prefix in wants.content_prefixes for index in (0, 1)]
    return sorted(key for key in wants.content_keys if not key.startswith("event:")) + sorted(spread)


def _span_payloads() -> list[bytes]:
    events = [(name, {"content": PLANTED, "message": PLANTED}) for name in sorted(wanted().content_events)]
    events.append(("exception", {"exception.type": "ValueError", "exception.message": PLANTED}))
    spans = []
    for number, form in enumerate(FORMS, start=1):
        content = dict.fromkeys(_content_keys(), form)
        for place, mark in enumerate(MARKS.values()):
            spans.append(
                make_span({**content, **mark}, number=number * 100 + place, events=events, status="error")
            )
        spans[-1].status.message = PLANTED
    payloads = [make_request(*spans)]
    payloads += [
        make_request(
            make_span(
                {**dict.fromkeys(_content_keys(), PLANTED), "gen_ai.operation.name": operation}, number=9
            ),
            scope=scope,
            resource={"process.command_line": PLANTED},
        )
        for scope in SCOPES
        for operation in ("chat", "execute_tool", "llm_call")
    ]
    claude = {**dict.fromkeys(_content_keys(), PLANTED), "error": PLANTED, "success": "false"}
    payloads.append(
        make_request(make_span({**claude, "span.type": "llm_request"}, name="claude_code.llm_request"))
    )
    return payloads


def _log_payload() -> bytes:
    request = ExportLogsServiceRequest()
    logs = request.resource_logs.add().scope_logs.add().log_records
    for body in FORMS:
        record = logs.add(time_unix_nano=START_NS, event_name="gen_ai.user.message")
        record.body.CopyFrom(any_value(body))
        record.attributes.extend(pairs({"gen_ai.input.messages": body, "prompt": PLANTED}))
    return request.SerializeToString()


def _metric_payload() -> bytes:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="m", description=PLANTED)
    point = metric.gauge.data_points.add(time_unix_nano=START_NS, as_int=1)
    point.attributes.extend(pairs({"prompt": PLANTED * 10}))
    return request.SerializeToString()


def test_a_planted_text_is_nowhere_in_the_written_files(tmp_path: Path) -> None:
    """Content attributes, events, exceptions, status and log bodies all hold it; no file does."""
    records = [make_record(payload) for payload in _span_payloads()]
    records += [make_record(_log_payload(), "logs"), make_record(_metric_payload(), "metrics")]
    tables = decode_block(records, OPTIONS)
    assert tables["spans"].num_rows > 40
    assert tables["logs"].num_rows == len(FORMS)
    said = "\n".join(str(table.to_pylist()) for table in tables.values())
    block = write_block(DataFolder(tmp_path).make(), "edge", 0, tables)
    files = [path.read_bytes() for path in block.iterdir()]
    assert len(files) >= 3
    for secret in ("umbrella", "zyx9"):
        assert secret not in said
        assert all(secret.encode() not in file for file in files)


def test_content_leaves_its_length_and_a_keyed_hash() -> None:
    """Equal content has equal hashes whatever its spacing and key order; another key gives another hash."""
    tool = {"gen_ai.operation.name": "execute_tool"}
    one = decode_span({**tool, "gen_ai.tool.call.arguments": '{"a": 1, "b": "x"}'})
    same = decode_span({**tool, "gen_ai.tool.call.arguments": {"b": "x", "a": 1}})
    other = decode_span({**tool, "gen_ai.tool.call.arguments": '{"a":2,"b":"x"}'})
    assert one["args_hash"] == same["args_hash"] != other["args_hash"]
    assert one["args_shape_hash"] == other["args_shape_hash"]
    assert (one["args_bytes"], len(one["args_hash"])) == (15, 32)
    payload = make_request(make_span({**tool, "gen_ai.tool.call.arguments": '{"a":1,"b":"x"}'}))
    (keyed,) = decode_rows(payload, options=OPTIONS._replace(content_key=b"q" * 32))
    assert keyed["args_hash"] != one["args_hash"]


def test_a_shape_ignores_times_ids_and_numbers() -> None:
    """Arguments that differ only in a time, an id and a number have one shape, other words have another."""
    tool = {"gen_ai.operation.name": "execute_tool"}
    texts = (
        '{"at":"2026-01-02T03:04:05Z","id":"6f1c2f34-aaaa-bbbb-cccc-0123456789ab","n":3,"q":"rain"}',
        '{"at":"2027-11-12T13:14:15.5Z","id":"00000000-aaaa-bbbb-cccc-ffff56789ab0","n":41.5,"q":"rain"}',
        '{"at":"2027-11-12T13:14:15.5Z","id":"00000000-aaaa-bbbb-cccc-ffff56789ab0","n":41.5,"q":"snow"}',
    )
    shapes = [decode_span({**tool, "gen_ai.tool.call.arguments": text})["args_shape_hash"] for text in texts]
    assert shapes[0] == shapes[1] != shapes[2]


def test_each_input_message_has_its_hash() -> None:
    """A message keeps its hash when the conversation grows, so that what was sent again can be seen."""
    chat = {"gen_ai.operation.name": "chat"}
    first, second = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
    short = decode_span({**chat, "gen_ai.input.messages": json.dumps([first])})
    long = decode_span({**chat, "gen_ai.input.messages": json.dumps([first, second])})
    assert long["message_hashes"][:1] == short["message_hashes"]
    assert len(set(long["message_hashes"])) == 2
    assert sum(long["message_bytes"]) == long["input_bytes"] - len("[,]")


def test_spread_messages_are_put_in_the_order_of_their_numbers() -> None:
    """Message 10 comes after message 9, and a gap is no message."""
    kind = {"openinference.span.kind": "LLM"}
    few = {f"llm.input_messages.{index}.message.content": str(index) for index in (0, 9)}
    more = {**few, "llm.input_messages.10.message.content": "10"}
    hashes = decode_span({**kind, **few})["message_hashes"]
    assert decode_span({**kind, **more})["message_hashes"][:2] == hashes
    assert len(hashes) == 2


def test_tool_definitions_are_estimated_from_their_size() -> None:
    """Four bytes of compact JSON are taken for a token, rounded up, and called an estimate."""
    row = decode_span({"gen_ai.operation.name": "chat", "gen_ai.tool.definitions": '[{"name": "abc"}]'})
    assert (row["tool_schema_tokens"], row["tool_schema_provenance"]) == (4, "estimated")


def test_cut_content_is_lost_not_wrong() -> None:
    """JSON that was cut off gives no size of definitions and no message hashes, and is flagged."""
    cut = '[{"role":"user","content":"a...[TRUNCATED'
    attributes = {
        "gen_ai.operation.name": "llm_call",
        "gen_ai.tool.definitions": cut,
        "gen_ai.input.messages": cut,
    }
    row = decode_span(attributes, scope="gemini-cli")
    assert (row["tool_schema_tokens"], row["message_hashes"], row["flags"]) == (None, None, ["cut_content"])


def test_text_that_only_begins_like_json_is_not_cut() -> None:
    """A log line in brackets is whole content, with a hash and no flag."""
    row = decode_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": "[note] hello"})
    assert (row["flags"], len(row["message_hashes"])) == (None, 1)


def test_text_is_kept_only_where_the_user_chose_it() -> None:
    """With content.capture text the row holds input and output, without it nothing."""
    payload = make_request(make_span({"gen_ai.operation.name": "chat", "gen_ai.input.messages": "hello"}))
    assert decode_rows(payload)[0]["content_text"] is None
    (row,) = decode_rows(payload, options=OPTIONS._replace(capture_text=True))
    assert json.loads(row["content_text"]) == {"input": "hello"}


def test_names_are_cut_and_sentences_are_no_error_types() -> None:
    """A span name keeps 200 characters; an error that is a sentence may be content and is dropped."""
    row = decode_span({"error.type": "the prompt said hello"}, name="n" * 500, status="error")
    assert (len(row["name"]), row["error_type"], row["status"]) == (200, None, "error")


@pytest.mark.parametrize("dialect", list(MARKS))
def test_very_deep_content_is_only_text(dialect: str) -> None:
    """JSON nested thousands of levels deep is hashed as text and breaks nothing."""
    deep = "[" * 3_000 + "]" * 3_000
    row = decode_span({**MARKS[dialect], **dict.fromkeys(_content_keys(), deep)})
    assert row["span_id"] == "0000000000000001"
