"""OTLP protobuf files are read whatever frames their messages, and told from other binary files."""

import io

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.formats.otlp_protobuf import Framing, Layout, find_layout, read_protobuf
from collector.formats.parts import Bad, Part
from taximeter.errors import BadInputError


def _traces(*counts: int) -> bytes:
    request = ExportTraceServiceRequest()
    for resource, count in enumerate(counts):
        spans = request.resource_spans.add().scope_spans.add().spans
        for number in range(count):
            spans.add(
                trace_id=bytes([resource] * 15 + [1]),
                span_id=number.to_bytes(8, "big"),
                name="chat",
                start_time_unix_nano=1_700_000_000_000_000_000 + number,
            )
    return request.SerializeToString()


def _metrics() -> bytes:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name="sixteen.letters.", unit="1")
    metric.description = "8 bytes!"
    metric.sum.data_points.add(as_int=3)
    return request.SerializeToString()


def _logs() -> bytes:
    request = ExportLogsServiceRequest()
    record = request.resource_logs.add().scope_logs.add().log_records.add(time_unix_nano=1_700_000_000)
    record.body.string_value = "done"
    return request.SerializeToString()


def _varint(size: int) -> bytes:
    out = b""
    while size >= 0x80:
        out += bytes([size & 0x7F | 0x80])
        size >>= 7
    return out + bytes([size])


def _framed(framing: Framing, messages: list[bytes]) -> bytes:
    if framing == "message":
        return b"".join(messages)
    if framing == "varint":
        return b"".join(_varint(len(message)) + message for message in messages)
    return b"".join(len(message).to_bytes(4, "big") + message for message in messages)


def _items(data: bytes, layout: Layout) -> int:
    items = list(read_protobuf(io.BytesIO(data), layout))
    assert all(isinstance(item, Part) for item in items)
    return sum(item.items for item in items if isinstance(item, Part))


@settings(max_examples=40, deadline=None)
@given(
    counts=st.lists(st.lists(st.integers(1, 40), min_size=1, max_size=3), min_size=1, max_size=4),
    framing=st.sampled_from(["message", "varint", "big_endian"]),
)
@example(counts=[[1], [40]], framing="big_endian")
def test_every_framing_is_found_and_read_whole(counts: list[list[int]], framing: Framing) -> None:
    """The framing is told from the bytes alone, and no span is lost under any."""
    data = _framed(framing, [_traces(*message) for message in counts])

    layout = find_layout(lambda: io.BytesIO(data))

    assert layout == Layout(framing, "traces")
    assert _items(data, layout) == sum(map(sum, counts))


@pytest.mark.parametrize(
    ("message", "signal"), [(_traces(2), "traces"), (_metrics(), "metrics"), (_logs(), "logs")]
)
def test_signals_are_told_apart(message: bytes, signal: str) -> None:
    """The three requests look alike from outside; what they hold tells which one it is."""
    layout = find_layout(lambda: io.BytesIO(message))

    assert layout is not None
    assert layout.signal == signal
    assert _items(message, layout) == (2 if signal == "traces" else 1)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=200))
def test_other_bytes_are_not_telemetry(data: bytes) -> None:
    """No bytes make the recognition fail, and what it takes for OTLP can be read or is called broken."""
    layout = find_layout(lambda: io.BytesIO(data))

    if layout is not None:
        try:
            assert list(read_protobuf(io.BytesIO(data), layout))
        except BadInputError as error:
            assert "OTLP" in str(error) or "cut" in str(error)  # noqa: PT017


@pytest.mark.parametrize("framing", ["message", "varint", "big_endian"])
def test_a_cut_file_is_broken_after_what_was_whole(framing: Framing) -> None:
    """A file cut in its last message gives the messages before it, then says so."""
    data = _framed(framing, [_traces(3), _traces(4)])[:-5]
    items: list[Part | Bad] = []

    with pytest.raises(BadInputError, match="cut"):  # noqa: PT012
        for item in read_protobuf(io.BytesIO(data), Layout(framing, "traces")):
            items.append(item)  # noqa: PERF402

    assert [item.items for item in items if isinstance(item, Part)] == [3]


def test_a_message_inside_that_is_none_costs_itself_alone() -> None:
    """Between whole frames, one that cannot be decoded is told and passed over."""
    data = _framed("varint", [_traces(3), b"\x0a\xff\xff", _traces(4)])

    items = list(read_protobuf(io.BytesIO(data), Layout("varint", "traces")))

    assert [item.items if isinstance(item, Part) else item.where for item in items] == [3, "message 2", 4]
