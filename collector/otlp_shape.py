"""JSON objects to keyword arguments of protobuf messages, by tables made once of their descriptors.

The messages themselves are then made in C from the whole tree: some six times as fast as walking it with
`json_format.ParseDict`, which stays the judge of whatever does not fit (`collector/otlp_json.py`).
"""

import base64
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

from google.protobuf.descriptor import EnumDescriptor, FieldDescriptor

Convert = Callable[[Any], Any]
Fields = dict[str, tuple[str, Convert]]

# The OTLP specification writes these as hex, where protobuf's own JSON form has base64.
IDS = frozenset({"trace_id", "span_id", "parent_span_id"})
_ID_BYTES = (8, 16)
_LARGEST = sys.float_info.max
_FLOATS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_WHOLE = {
    FieldDescriptor.TYPE_INT32,
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_UINT64,
    FieldDescriptor.TYPE_SINT32,
    FieldDescriptor.TYPE_SINT64,
    FieldDescriptor.TYPE_FIXED32,
    FieldDescriptor.TYPE_FIXED64,
    FieldDescriptor.TYPE_SFIXED32,
    FieldDescriptor.TYPE_SFIXED64,
}


class MisfitError(ValueError):
    """A value is not what its field holds; which one is for the slow reader to say."""


def reader(descriptor: Any) -> Convert:
    """Make the reader of a message: JSON object in, keyword arguments of its constructor out.

    Unknown keys are ignored and null is absent. The reader raises MisfitError or another ValueError; what
    passes it may still be refused by the constructor.
    """
    fields: Fields = {}

    def read(value: Any) -> dict[str, Any]:
        if not fields:
            fields.update(_fields(descriptor))
        if type(value) is not dict:
            raise MisfitError
        made = {}
        for key, held in value.items():
            field = fields.get(key)
            if field is not None and held is not None:
                name, convert = field
                made[name] = convert(held)
        return made

    return read


_reader_of = cache(reader)  # messages hold themselves (AnyValue), so fields are found when first read


def _fields(descriptor: Any) -> Fields:
    found: Fields = {}
    for field in descriptor.fields:
        convert = _each(_convert(field)) if field.is_repeated else _convert(field)
        found[field.name] = found[field.json_name] = (field.name, convert)
    return found


def _each(convert: Convert) -> Convert:
    def read(value: Any) -> list[Any]:
        if type(value) is not list:
            raise MisfitError
        return [convert(item) for item in value]

    return read


def _convert(field: FieldDescriptor) -> Convert:
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _reader_of(field.message_type)
    if field.type == FieldDescriptor.TYPE_ENUM:
        return _enum(field.enum_type)
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _id if field.name in IDS else _base64
    if field.type in _WHOLE:
        return _whole
    return {
        FieldDescriptor.TYPE_STRING: _text,
        FieldDescriptor.TYPE_BOOL: _flag,
    }.get(field.type, _number)


def _text(value: Any) -> str:
    if type(value) is not str:
        raise MisfitError
    return value


def _flag(value: Any) -> bool:
    if type(value) is not bool:
        raise MisfitError
    return value


def _whole(value: Any) -> int:
    if type(value) is int:
        return value
    if type(value) is str and value.isascii() and value.removeprefix("-").isdecimal():
        return int(value)
    raise MisfitError


def _number(value: Any) -> float:
    if type(value) in {int, float}:
        # JSON knows no bare Infinity, and no double holds every whole number.
        if not -_LARGEST <= value <= _LARGEST:
            raise MisfitError
        return float(value)
    if value in _FLOATS:
        return _FLOATS[value]
    raise MisfitError


def id_bytes(text: str) -> bytes:
    """Read an id: hex of any length, else the base64 that senders with protobuf's own JSON form write.

    Raises:
        ValueError: it is neither.
    """
    try:
        return bytes.fromhex(text)
    except ValueError:
        found = base64.b64decode(text, validate=True)
        if len(found) not in _ID_BYTES:
            raise
        return found


def _id(value: Any) -> bytes:
    return id_bytes(_text(value))


def _base64(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


def _enum(descriptor: EnumDescriptor | None) -> Convert:
    numbers = {name: value.number for name, value in descriptor.values_by_name.items()} if descriptor else {}

    def read(value: Any) -> int:
        if type(value) is int:
            return value
        if type(value) is str and value in numbers:
            return numbers[value]
        raise MisfitError

    return read
