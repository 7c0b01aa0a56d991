"""OTLP protobuf in a file: one message, or messages that each carry their length in front.

Lengths are a varint (the usual framing of protobuf streams) or four bytes, big end first (the collector's
file exporter). A request is nothing but its resource entries one after another, so that a message of any
length is read entry by entry.
"""

from collections.abc import Callable, Iterator
from typing import Any, BinaryIO, Literal, NamedTuple

from google.protobuf.message import DecodeError

from collector.formats.parts import SHAPES, Bad, Part, to_parts
from collector.journal.record import Signal
from taximeter.errors import BadInputError

Framing = Literal["message", "varint", "big_endian"]
MAX_FRAME_BYTES = 256 * 1024 * 1024
_ENTRY_TAG = b"\x0a"  # field 1, length-delimited: a resource entry of every signal
_VARINT_BYTES = 10
_WORD_BYTES = 4
_FRAMES_TO_TRY = 20  # the first may be empty


class Layout(NamedTuple):
    """How a file of OTLP protobuf is framed, and which signal it holds."""

    framing: Framing
    signal: Signal


def find_layout(open_file: Callable[[], BinaryIO]) -> Layout | None:
    """Tell how a file is framed and what it holds, from its first frames; None if it is not OTLP protobuf."""
    for framing in _FRAMES:
        with open_file() as file:
            signal = _first_signal(file, framing)
        if signal:
            return Layout(framing, signal)
    return None


def _first_signal(file: BinaryIO, framing: Framing) -> Signal | None:
    try:
        for _ in range(_FRAMES_TO_TRY):
            frame = _FRAMES[framing](file)
            if frame is None:
                return None
            signal = _signal_of(frame)
            if signal:
                return signal
    except BadInputError:
        return None
    return None


def read_protobuf(file: BinaryIO, layout: Layout) -> Iterator[Part | Bad]:
    """Hand on a file's messages.

    Raises:
        BadInputError: the file is cut, or a length in it cannot be; what came before has been handed on.
    """
    next_frame = _FRAMES[layout.framing]
    number = 0
    while (frame := next_frame(file)) is not None:
        number += 1
        try:
            yield from to_parts(layout.signal, frame)
        except BadInputError as error:
            yield Bad(f"message {number}", str(error))


def _signal_of(frame: bytes) -> Signal | None:
    for signal, shape in SHAPES.items():
        try:
            request = shape.request.FromString(frame)
        except DecodeError:
            continue
        for resource in getattr(request, shape.resources):
            for scope in getattr(resource, shape.scopes):
                if any(_LOOKS_RIGHT[signal](item) for item in getattr(scope, shape.items)[:10]):
                    return signal
    return None


def _is_span(item: Any) -> bool:
    sized = len(item.trace_id) == 16 and len(item.span_id) == 8  # noqa: PLR2004
    return sized and item.start_time_unix_nano > 0


def _is_metric(item: Any) -> bool:
    return bool(item.name) and item.WhichOneof("data") is not None


def _is_log(item: Any) -> bool:
    has_time = item.time_unix_nano > 0 or item.observed_time_unix_nano > 0
    return has_time and (item.HasField("body") or len(item.attributes) > 0 or bool(item.event_name))


_LOOKS_RIGHT: dict[Signal, Callable[[Any], bool]] = {
    "traces": _is_span,
    "metrics": _is_metric,
    "logs": _is_log,
}


def _next_entry(file: BinaryIO) -> bytes | None:
    tag = file.read(1)
    if not tag:
        return None
    if tag != _ENTRY_TAG:
        message = f"byte {file.tell() - 1} starts no OTLP entry"
        raise BadInputError(message)
    size = _read_varint(file)
    if size is None:
        raise BadInputError(_CUT)
    return tag + _write_varint(size) + _take(file, size)


def _next_varint_frame(file: BinaryIO) -> bytes | None:
    size = _read_varint(file)
    return None if size is None else _take(file, size)


def _next_word_frame(file: BinaryIO) -> bytes | None:
    word = file.read(_WORD_BYTES)
    if not word:
        return None
    if len(word) < _WORD_BYTES:
        raise BadInputError(_CUT)
    return _take(file, int.from_bytes(word, "big"))


_CUT = "the file is cut in the middle of a message"
# The order matters: a lone message is told by its first tag, which as a length would be a tiny frame, and the
# leading zeros of a small four-byte length would be empty frames.
_FRAMES: dict[Framing, Callable[[BinaryIO], bytes | None]] = {
    "message": _next_entry,
    "big_endian": _next_word_frame,
    "varint": _next_varint_frame,
}


def _take(file: BinaryIO, size: int) -> bytes:
    if size > MAX_FRAME_BYTES:
        message = f"a message of {size} bytes is more than {MAX_FRAME_BYTES}"
        raise BadInputError(message)
    data = file.read(size)
    if len(data) < size:
        raise BadInputError(_CUT)
    return data


def _read_varint(file: BinaryIO) -> int | None:
    value = 0
    for position in range(_VARINT_BYTES):
        byte = file.read(1)
        if not byte:
            if position == 0:
                return None
            raise BadInputError(_CUT)
        value |= (byte[0] & 0x7F) << (7 * position)
        if byte[0] < 0x80:  # noqa: PLR2004
            return value
    message = "a length in the file is not a number"
    raise BadInputError(message)


def _write_varint(value: int) -> bytes:
    out = bytearray()
    while value >= 0x80:  # noqa: PLR2004
        out.append((value & 0x7F) | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
