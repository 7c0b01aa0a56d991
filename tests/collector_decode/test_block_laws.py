"""Laws of a block: order and grouping of requests change no row, and no bytes can break the decoder."""

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode import decode_block
from collector.decode.testing import OPTIONS, decode_rows, make_record, make_request, make_span
from warehouse.rows import SCHEMAS


def _by_hash(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: row["row_hash"])


def _one_span_each(payload: bytes) -> list[bytes]:
    """Split a request into one request per span."""
    request = ExportTraceServiceRequest.FromString(payload)
    alone = []
    for of_resource in request.resource_spans:
        for of_scope in of_resource.scope_spans:
            for span in of_scope.spans:
                single = ExportTraceServiceRequest()
                held = single.resource_spans.add(
                    resource=of_resource.resource, schema_url=of_resource.schema_url
                )
                scope = held.scope_spans.add(scope=of_scope.scope, schema_url=of_scope.schema_url)
                scope.spans.append(span)
                alone.append(single.SerializeToString())
    return alone


def test_every_request_gives_the_same_rows_one_span_at_a_time(requests: dict[str, bytes]) -> None:
    """All spans of all reference requests, each in a request of its own and shuffled, give the same rows."""
    payloads = [payload for name, payload in sorted(requests.items()) if name.startswith("spans/")]
    whole = decode_rows(*payloads)
    alone = [one for payload in payloads for one in _one_span_each(payload)]
    random.Random(7).shuffle(alone)
    assert len(alone) == len(whole)
    assert _by_hash(decode_rows(*alone)) == _by_hash(whole)


def test_a_span_alone_in_its_block_gives_the_same_row(requests: dict[str, bytes]) -> None:
    """Columns that other spans bring into a block change nothing: a block of one span says the same."""
    payload = requests["spans/otel_genai_current"]
    alone = [row for one in _one_span_each(payload) for row in decode_rows(one)]
    assert _by_hash(alone) == _by_hash(decode_rows(payload))


_ATTRIBUTES = st.dictionaries(
    st.sampled_from(
        [
            "gen_ai.operation.name",
            "gen_ai.usage.input_tokens",
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.response.finish_reasons",
            "openinference.span.kind",
            "llm.token_count.prompt",
            "ai.operationId",
            "traceloop.span.kind",
        ]
    ),
    st.one_of(
        st.sampled_from(["chat", "execute_tool", "LLM", "TOOL", "ai.toolCall", "stop", ""]),
        st.integers(-2, 5_000),
        st.floats(),
        st.booleans(),
        st.lists(st.sampled_from(["stop", "tool_use"]), max_size=2),
    ),
    max_size=5,
)


@given(st.lists(_ATTRIBUTES, min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=8, deadline=None)
def test_order_and_grouping_change_no_row(spans: list[dict[str, Any]], chance: random.Random) -> None:
    """Spans of any mix of dialects give the same rows in one request, in many, and in any order."""
    made = [make_span(attributes, number=number) for number, attributes in enumerate(spans, start=1)]
    together = decode_rows(make_request(*made))
    refused = decode_rows(make_request(*made), kind="refused")
    chance.shuffle(made)
    alone = [make_request(span) for span in made]
    assert _by_hash(decode_rows(*alone)) == _by_hash(together)
    key = str
    assert sorted(decode_rows(*alone, kind="refused"), key=key) == sorted(refused, key=key)


@given(st.binary(max_size=200), st.sampled_from(["traces", "metrics", "logs"]))
@settings(max_examples=25, deadline=None)
def test_random_bytes_never_break_the_decoder(payload: bytes, signal: Any) -> None:
    """Any bytes give tables of the right schemas, and a good request beside them is read."""
    good = make_record(make_request(make_span()))
    tables = decode_block([make_record(payload, signal), good], OPTIONS)
    assert {kind: table.schema for kind, table in tables.items()} == SCHEMAS
    assert "0000000000000001" in tables["spans"]["span_id"].to_pylist()


@given(st.integers(0, 400), st.binary(min_size=1, max_size=8), st.booleans())
@settings(max_examples=25, deadline=None)
def test_damaged_requests_never_break_the_decoder(place: int, noise: bytes, cut: bool) -> None:  # noqa: FBT001
    """A request with bytes overwritten or cut off gives rows or a refusal, never an error."""
    whole = make_request(
        make_span({"gen_ai.usage.input_tokens": 7, "a": [1, {"b": "c"}]}, events=[("e", {"k": "v"})]),
        resource={"service.name": "s"},
    )
    place %= len(whole)
    damaged = whole[:place] if cut else whole[:place] + noise + whole[place + len(noise) :]
    tables = decode_block([make_record(damaged)], OPTIONS)
    assert {kind: table.schema for kind, table in tables.items()} == SCHEMAS


def test_an_empty_block_has_every_table() -> None:
    """No request gives every kind of table, each without rows."""
    tables = decode_block([], OPTIONS)
    assert {kind: table.schema for kind, table in tables.items()} == SCHEMAS
    assert sum(table.num_rows for table in tables.values()) == 0


def test_the_fuller_version_of_a_span_is_known_by_its_count() -> None:
    """`filled` counts known fields, and the hash tells versions apart but not receipts."""
    bare = decode_rows(make_request(make_span({"gen_ai.operation.name": "chat"})))[0]
    full = decode_rows(
        make_request(make_span({"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 1}))
    )[0]
    assert full["filled"] > bare["filled"]
    assert full["row_hash"] != bare["row_hash"]
    later = decode_block([make_record(make_request(make_span()), received_ns=5)], OPTIONS)["spans"]
    sooner = decode_block([make_record(make_request(make_span()), received_ns=9)], OPTIONS)["spans"]
    assert later["row_hash"] == sooner["row_hash"]
