"""What the journal holds: one accepted request, and the block of them that is decoded and loaded as one."""

from typing import Literal, NamedTuple

Signal = Literal["traces", "metrics", "logs"]


class Record(NamedTuple):
    """One accepted request; the payload is the protobuf form of the OTLP Export...ServiceRequest."""

    signal: Signal
    tenant: str
    received_ns: int
    peer: str
    payload: bytes


class Block(NamedTuple):
    """The unit of decode and of load: one group commit, or a few while the decode process was busy.

    Sequences count up from 0 without gaps. What a block holds never changes once it was handed to decode.
    """

    journal: str
    sequence: int
    records: tuple[Record, ...]
    damaged: int = 0  # commits of the block whose bytes are gone or are not those that were written
