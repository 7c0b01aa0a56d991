"""The quick reader of OTLP/JSON against protobuf's own, which is slow and right."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.otlp_json import slow_to_protobuf, to_protobuf
from taximeter.errors import BadInputError

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**65), 2**65)
    | st.floats()
    | st.sampled_from(
        ["", "7", "-1", "1.5", "0x1", "7 ", "NaN", "Infinity", "ab", "SPAN_KIND_CLIENT", "aGk=", "é"]
    )
)
VALUES = st.recursive(
    st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ("stringValue", "intValue", "doubleValue", "boolValue", "bytesValue", "new"), SCALARS
        ),
    ).filter(lambda value: len([held for held in value.values() if held is not None]) <= 1),
    lambda inner: st.fixed_dictionaries(
        {"arrayValue": st.fixed_dictionaries({"values": st.lists(inner, max_size=2)})}
    ),
    max_leaves=4,
)
ATTRIBUTES = st.lists(st.fixed_dictionaries({"key": SCALARS, "value": VALUES | SCALARS}), max_size=2)
SPANS = st.fixed_dictionaries(
    {},
    optional={
        "traceId": SCALARS,
        "parent_span_id": SCALARS,
        "kind": SCALARS,
        "startTimeUnixNano": SCALARS,
        "flags": SCALARS,
        "droppedEventsCount": SCALARS,
        "attributes": ATTRIBUTES | SCALARS,
        "status": st.fixed_dictionaries({"code": SCALARS, "message": SCALARS}) | SCALARS,
    },
)
POINTS = st.fixed_dictionaries(
    {}, optional={"asDouble": SCALARS, "timeUnixNano": SCALARS, "attributes": ATTRIBUTES}
)


def _either(signal: Any, body: bytes, read: Any) -> bytes | None:
    try:
        made: bytes = read(signal, body)
    except BadInputError:
        return None
    return made


@given(st.lists(SPANS | SCALARS, max_size=2), ATTRIBUTES)
def test_spans_read_as_protobufs_own_reader_reads_them(spans: list[Any], resource: list[Any]) -> None:
    """Whatever the fields hold, both readers give the same bytes, or both refuse."""
    document = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": spans}]}]}
    body = json.dumps(document).encode()
    assert _either("traces", body, to_protobuf) == _either("traces", body, slow_to_protobuf)


@given(st.lists(POINTS, max_size=2), st.sampled_from(["gauge", "sum", "histogram"]))
def test_points_read_as_protobufs_own_reader_reads_them(points: list[Any], kind: str) -> None:
    """Metrics too, the infinities of their figures included."""
    metrics = [{"name": "m", kind: {"dataPoints": points}}]
    body = json.dumps({"resourceMetrics": [{"scopeMetrics": [{"metrics": metrics}]}]}).encode()
    assert _either("metrics", body, to_protobuf) == _either("metrics", body, slow_to_protobuf)


@pytest.mark.parametrize(
    "number", ["Infinity", "-Infinity", "NaN", "1e400", "1" + "0" * 400, "-1" + "0" * 400]
)
@pytest.mark.parametrize("place", ["asDouble", "asInt", "timeUnixNano"])
def test_a_number_that_no_field_holds_is_refused_by_both(number: str, place: str) -> None:
    """Bare infinities, which are no JSON, and numbers beyond every field are refused, never a crash."""
    metrics = f'[{{"name": "m", "gauge": {{"dataPoints": [{{"{place}": {number}}}]}}}}]'
    sent = f'{{"resourceMetrics": [{{"scopeMetrics": [{{"metrics": {metrics}}}]}}]}}'.encode()
    assert _either("metrics", sent, to_protobuf) == _either("metrics", sent, slow_to_protobuf)
