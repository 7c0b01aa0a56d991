"""Why a request was not taken, and what each protocol answers then."""

from typing import NamedTuple

from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2


class Why(NamedTuple):
    """One reason: its HTTP status, its google.rpc code, and after how many seconds to try again, if ever."""

    http_status: int
    code: int
    retry_s: int | None = None


MALFORMED = Why(400, code_pb2.INVALID_ARGUMENT)
NO_TOKEN = Why(401, code_pb2.UNAUTHENTICATED)
WRONG_SCOPE = Why(403, code_pb2.PERMISSION_DENIED)
TOO_SLOW = Why(408, code_pb2.DEADLINE_EXCEEDED)
TOO_LARGE = Why(413, code_pb2.INVALID_ARGUMENT)
WRONG_TYPE = Why(415, code_pb2.INVALID_ARGUMENT)
FULL = Why(503, code_pb2.RESOURCE_EXHAUSTED, retry_s=2)


_REASONS = {
    MALFORMED: "malformed",
    NO_TOKEN: "no_token",
    WRONG_SCOPE: "wrong_scope",
    TOO_SLOW: "too_slow",
    TOO_LARGE: "too_large",
    WRONG_TYPE: "wrong_type",
    FULL: "full",
}


class RefusedError(Exception):
    """A request that was not taken. Its text goes back to the sender and never quotes what was sent."""

    def __init__(self, why: Why, message: str) -> None:
        """`message` is one line for the person who reads the sender's log."""
        super().__init__(message)
        self.why = why
        self.message = message


def reason_of(error: RefusedError) -> str:
    """Name the reason in one word, for counting."""
    return _REASONS[error.why]


def status_of(error: RefusedError) -> Message:
    """Make the google.rpc.Status that OTLP senders read; it says when to try again, where they may."""
    status = status_pb2.Status(code=error.why.code, message=error.message)
    if error.why.retry_s is not None:
        retry = AnyMessage()
        retry.Pack(error_details_pb2.RetryInfo(retry_delay=Duration(seconds=error.why.retry_s)))
        status.details.append(retry)
    made: Message = status
    return made
