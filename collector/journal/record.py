"""What the journal holds: one accepted request, and the group of them that one fsync made durable."""

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
    """One group commit: the unit of decode and of load. Sequences count up from 0 without gaps."""

    journal: str
    sequence: int
    records: tuple[Record, ...]
