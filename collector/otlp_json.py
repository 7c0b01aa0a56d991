"""OTLP/JSON to protobuf: the form in which every request goes on."""

import base64
import json
import re
from typing import Any

from google.protobuf.json_format import ParseDict, ParseError
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector import otlp_shape
from collector.journal.record import Signal
from taximeter.errors import BadInputError

_REQUESTS: dict[Signal, type[Message]] = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}
_READERS = {signal: otlp_shape.reader(request.DESCRIPTOR) for signal, request in _REQUESTS.items()}
_IDS = otlp_shape.IDS | {"traceId", "spanId", "parentSpanId"}
_FIELD_PATH = re.compile(r"Failed to parse (\w+) field")


def to_protobuf(signal: Signal, body: bytes) -> bytes:
    """Turn an OTLP/JSON Export...ServiceRequest into its protobuf bytes.

    Ids are hex of any length (decode judges lengths), or base64 of the right one; 64-bit integers are
    strings or numbers; unknown fields are ignored.

    Raises:
        BadInputError: it is not JSON, not an object, or a field does not fit the schema. The text names the
            place and never quotes a value.
    """
    try:
        return _REQUESTS[signal](**_READERS[signal](json.loads(body))).SerializeToString()
    except (ValueError, TypeError, RecursionError, OverflowError):
        return slow_to_protobuf(signal, body)


def slow_to_protobuf(signal: Signal, body: bytes) -> bytes:
    """Read by protobuf's own reader, which is slow, and judges what does not fit and says where."""
    request = _REQUESTS[signal]()
    try:
        document = json.loads(body)
        if not isinstance(document, dict):
            message = "the body is not a JSON object"
            raise BadInputError(message)
        _ids_to_base64(document)
        ParseDict(document, request, ignore_unknown_fields=True)
        return request.SerializeToString()
    except json.JSONDecodeError as error:
        message = f"the body is not JSON: line {error.lineno}, column {error.colno}"
    except ParseError as error:
        path = ".".join(_FIELD_PATH.findall(str(error)))
        message = f"the body is not an OTLP/JSON {signal} request" + (f": see {path}" if path else "")
    except (ValueError, TypeError, AttributeError, OverflowError):
        message = f"the body is not an OTLP/JSON {signal} request"
    except RecursionError:
        message = "the JSON is nested too deep"
    raise BadInputError(message)


def _ids_to_base64(node: Any) -> None:
    if isinstance(node, dict):
        for key, value in node.items():
            if key in _IDS and isinstance(value, str):
                node[key] = _to_base64(key, value)
            elif isinstance(value, dict | list):
                _ids_to_base64(value)
    elif isinstance(node, list):
        for item in node:
            if isinstance(item, dict | list):
                _ids_to_base64(item)


def _to_base64(key: str, text: str) -> str:
    try:
        return base64.b64encode(otlp_shape.id_bytes(text)).decode()
    except ValueError:
        message = f"{key} is not hex"
        raise BadInputError(message) from None
