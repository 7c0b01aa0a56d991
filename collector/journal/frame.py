"""How a commit lies in a segment: a header with a checksum, then its records back to back.

A frame is `magic, crc32, sequence of its block, body length, number of records`, little-endian, then the
body. The checksum covers everything after itself, so a torn or overwritten frame is told from a whole one.
"""

import os
import struct
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from collector.journal.record import Record, Signal

_MAGIC = b"TXJ1"
_HEADER = struct.Struct("<4sIQII")
_COVERED = struct.Struct("<QII")
_RECORD = struct.Struct("<BqHHI")
_SIGNALS: tuple[Signal, ...] = ("traces", "metrics", "logs")

FRAME_OVERHEAD_BYTES = _HEADER.size
RECORD_OVERHEAD_BYTES = _RECORD.size


class Frame(NamedTuple):
    """Where one whole frame lies in its segment."""

    sequence: int
    offset: int
    end: int
    records: int


def pack(sequence: int, records: Sequence[Record]) -> bytes:
    """Write one commit of block `sequence` as the bytes of a frame."""
    parts: list[bytes] = []
    for record in records:
        tenant, peer = record.tenant.encode(), record.peer.encode()
        parts.append(
            _RECORD.pack(
                _SIGNALS.index(record.signal), record.received_ns, len(tenant), len(peer), len(record.payload)
            )
        )
        parts += (tenant, peer, record.payload)
    body = b"".join(parts)
    covered = _COVERED.pack(sequence, len(body), len(records))
    crc = zlib.crc32(body, zlib.crc32(covered))
    return b"".join((_MAGIC, crc.to_bytes(4, "little"), covered, body))


def frame_at(file: int, offset: int) -> Frame | None:
    """Read only the header at `offset` of an open segment; None where no frame begins or it is cut short."""
    header = os.pread(file, _HEADER.size, offset)
    if len(header) < _HEADER.size or not header.startswith(_MAGIC):
        return None
    _, _, sequence, length, records = _HEADER.unpack(header)
    end = offset + _HEADER.size + length
    return Frame(sequence, offset, end, records) if end <= os.fstat(file).st_size else None


def next_frame(file: int, offset: int) -> Frame | None:
    """Find the first whole frame whose checksum holds at `offset` or behind it; None where there is none.

    Where a whole frame begins at `offset` no more is read, else the rest of the segment.
    """
    frame = frame_at(file, offset)
    if frame is not None and read_records(file, frame) is not None:
        return frame
    size = os.fstat(file).st_size
    rest = _pread_whole(file, max(size - offset, 0), offset)
    at = rest.find(_MAGIC)
    while at >= 0:
        frame = frame_at(file, offset + at)
        if frame is not None and read_records(file, frame) is not None:
            return frame
        at = rest.find(_MAGIC, at + 1)
    return None


def read_records(file: int, frame: Frame) -> tuple[Record, ...] | None:
    """Read a frame's records; None where the checksum says that its bytes are not those that were written."""
    data = _pread_whole(file, frame.end - frame.offset, frame.offset)
    if len(data) < frame.end - frame.offset:
        return None
    if zlib.crc32(memoryview(data)[8:]) != int.from_bytes(data[4:8], "little"):
        return None
    return tuple(_unpack(data, frame.records))


def _pread_whole(file: int, size: int, offset: int) -> bytes:
    data = os.pread(file, size, offset)
    while len(data) < size:
        more = os.pread(file, size - len(data), offset + len(data))
        if not more:
            break
        data += more
    return data


def _unpack(data: bytes, count: int) -> list[Record]:
    records = []
    at = _HEADER.size
    for _ in range(count):
        signal, received_ns, tenant_size, peer_size, payload_size = _RECORD.unpack_from(data, at)
        tenant_at = at + _RECORD.size
        peer_at = tenant_at + tenant_size
        payload_at = peer_at + peer_size
        at = payload_at + payload_size
        records.append(
            Record(
                signal=_SIGNALS[signal],
                tenant=data[tenant_at:peer_at].decode(),
                received_ns=received_ns,
                peer=data[peer_at:payload_at].decode(),
                payload=data[payload_at:at],
            )
        )
    return records
