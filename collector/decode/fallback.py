"""Flatten natively, and where that fails by walking objects: no request spoils the others of its block."""

from collections.abc import Callable, Sequence
from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from collector.journal.record import Record

_Flat = TypeVar("_Flat")
_Flatten = Callable[[Sequence[bytes]], _Flat]


def flatten(
    records: Sequence[Record], request: type[Message], native: _Flatten[_Flat], walk: _Flatten[_Flat]
) -> tuple[list[Record], list[Record], _Flat]:
    """Flatten natively; where that fails, set aside what is no request and try again, then walk objects.

    Returns:
        the readable records, those that are no requests of the signal, and the flat form of the readable.
    """
    try:
        return list(records), [], native([record.payload for record in records])
    except (ValueError, DecodeError):
        readable = [record for record in records if _is_request(record.payload, request)]
        broken = [record for record in records if not _is_request(record.payload, request)]
    payloads = [record.payload for record in readable]
    try:
        return readable, broken, native(payloads)
    except ValueError:
        return readable, broken, walk(payloads)


def _is_request(payload: bytes, request: type[Message]) -> bool:
    try:
        request.FromString(payload)
    except DecodeError:
        return False
    return True
