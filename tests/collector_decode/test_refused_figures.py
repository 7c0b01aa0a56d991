"""Numbers as senders send them: taken in any form, refused one by one with a reason."""

from typing import Any

import pytest

from collector.decode.testing import START_NS, decode_rows, decode_span, make_request, make_span

CHAT = {"gen_ai.operation.name": "chat"}
IN = "gen_ai.usage.input_tokens"


def _both(value: Any) -> tuple[Any, list[dict[str, Any]]]:
    payload = make_request(make_span({**CHAT, IN: value, "gen_ai.usage.output_tokens": 3}))
    (span,) = decode_rows(payload)
    assert span["output_tokens"] == 3
    return span["input_tokens"], decode_rows(payload, kind="refused")


@pytest.mark.parametrize("value", [1200, 1200.0, "1200", " 1200 ", "1200.0", "1.2e3"])
def test_a_count_is_taken_in_every_form(value: Any) -> None:
    """Whole, real and text forms of 1200 are all 1200."""
    assert _both(value) == (1200, [])


@pytest.mark.parametrize(
    ("value", "reason", "shown"),
    [
        (True, "not_a_number", "true"),
        ("abc", "not_a_number", "text of 3 bytes"),
        (-500, "negative", "-500"),
        ("-0.5", "negative", "-0.5"),
        (float("nan"), "not_finite", "NaN"),
        (float("inf"), "not_finite", "inf"),
        ("Infinity", "not_finite", "Infinity"),
        (1e19, "too_large", "1e+19"),
        (1_000_000_000_001, "too_large", "1000000000001"),
        ("1e400", "too_large", "1e400"),
        (12.5, "not_a_number", "12.5"),
    ],
)
def test_a_bad_count_is_refused_alone(value: Any, reason: str, shown: str) -> None:
    """The figure is null, the rest of the span is kept, and one row tells why without showing text."""
    taken, (refused,) = _both(value)
    assert taken is None
    assert (refused["field"], refused["reason"], refused["value"]) == ("input_tokens", reason, shown)
    assert (refused["signal"], refused["source"], refused["span_id"]) == (
        "traces",
        "test",
        "0000000000000001",
    )


@pytest.mark.parametrize("value", [-1, -1.0, "-1"])
def test_minus_one_means_unknown(value: Any) -> None:
    """-1 is how several SDKs say that they do not know: null, and no fuss."""
    assert _both(value) == (None, [])


def test_times_have_the_unit_of_their_dialect() -> None:
    """Seconds of the conventions and milliseconds of Claude Code both become nanoseconds."""
    seconds = decode_span({**CHAT, "gen_ai.response.time_to_first_chunk": 0.41})
    assert seconds["ttft_ns"] == 410_000_000
    attributes = {"span.type": "llm_request", "ttft_ms": "1450"}
    assert decode_span(attributes, name="claude_code.llm_request")["ttft_ns"] == 1_450_000_000


def test_a_time_that_cannot_be_is_refused() -> None:
    """A first-token time below zero or of three hundred years is null and told."""
    for value, reason in ((-5, "negative"), (1e11, "too_large")):
        payload = make_request(make_span({**CHAT, "gen_ai.response.time_to_first_chunk": value}))
        assert decode_rows(payload)[0]["ttft_ns"] is None
        assert [row["reason"] for row in decode_rows(payload, kind="refused")] == [reason]


def test_a_span_without_a_real_id_is_refused_and_the_others_stay() -> None:
    """A trace id of 15 bytes or all zero, a span id of 4 bytes: three rows in refused, one span kept."""
    short, zero, cut = make_span(number=1), make_span(number=2), make_span(number=3)
    short.trace_id, zero.trace_id, cut.span_id = b"1" * 15, bytes(16), b"1234"
    payload = make_request(short, zero, make_span(number=4), cut)
    assert [row["span_id"] for row in decode_rows(payload)] == ["0000000000000004"]
    refused = decode_rows(payload, kind="refused")
    assert [(row["reason"], row["field"]) for row in refused] == [
        ("bad_id", "trace_id"),
        ("bad_id", "trace_id"),
        ("bad_id", "span_id"),
    ]


def test_a_bad_parent_id_costs_only_the_parent() -> None:
    """A parent id of the wrong length is refused, the span stays without a parent; zeros mean a root."""
    wrong, root = make_span(number=1), make_span(number=2)
    wrong.parent_span_id, root.parent_span_id = b"abc", bytes(8)
    payload = make_request(wrong, root)
    assert [row["parent_span_id"] for row in decode_rows(payload)] == [None, None]
    assert [row["field"] for row in decode_rows(payload, kind="refused")] == ["parent_span_id"]


def test_an_end_before_the_start_is_mended_and_told() -> None:
    """Such a span lasts no time, is flagged, and has its row in refused."""
    payload = make_request(make_span(duration_ns=-7))
    (span,) = decode_rows(payload)
    assert (span["start_ns"], span["end_ns"], span["flags"]) == (START_NS, START_NS, ["end_before_start"])
    assert [row["reason"] for row in decode_rows(payload, kind="refused")] == ["end_before_start"]


def test_a_span_without_a_time_is_refused() -> None:
    """A start of 0, or beyond what a BIGINT holds, is no instant."""
    for start in (0, 2**63):
        payload = make_request(make_span(start_ns=start, duration_ns=1))
        assert decode_rows(payload) == []
        assert [row["field"] for row in decode_rows(payload, kind="refused")] == ["start_ns"]


def test_a_request_that_is_none_is_refused_alone() -> None:
    """Bytes that are no request become one row; the good requests of the block are read."""
    good = make_request(make_span())
    payloads = (good, b"\xff\xff\xff", good)
    assert len(decode_rows(*payloads)) == 2
    (refused,) = decode_rows(*payloads, kind="refused")
    assert (refused["reason"], refused["value"], refused["span_id"]) == ("undecodable", "3 bytes", None)
