"""What `rocm-smi --json` printed: one object per card, every figure as text, and no time."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO

import pyarrow as pa

from collector.formats.gpu_samples import to_tables
from collector.formats.source import NO_TIME
from taximeter.errors import BadInputError

_MOST_BYTES = 16 * 1024 * 1024
_SIGN = re.compile(rb'^\s*\{\s*"(?:card\d+|system)"\s*:\s*\{')
_COLUMNS = {
    "uuid": ("Unique ID",),
    "bus_id": ("PCI Bus",),
    "name": ("Card series", "Card Series"),
    "util_percent": ("GPU use (%)",),
    "memory_util_percent": ("GPU memory use (%)",),
    "memory_total_bytes": ("VRAM Total Memory (B)",),
    "memory_used_bytes": ("VRAM Total Used Memory (B)",),
    "power_w": ("Average Graphics Package Power (W)",),
    "power.limit": ("Max Graphics Package Power (W)",),
}


def is_rocm_json(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is such a document."""
    return _SIGN.search(head) is not None and b"GPU" in head


def read_rocm_file(
    file: BinaryIO, zone: str | None, where: str, taken_at: str | None
) -> Iterator[dict[str, pa.Table]]:
    """Read such a document from a file; see `read_rocm_json`.

    Raises:
        BadInputError: nobody says when it was taken, or it is larger than any such document.
    """
    if taken_at is None:
        raise BadInputError(NO_TIME)
    text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        message = f"a rocm-smi document of more than {_MOST_BYTES:,} bytes"
        raise BadInputError(message)
    yield read_rocm_json(text, zone, where, taken_at)


def read_rocm_json(text: bytes, zone: str | None, where: str, taken_at: str) -> dict[str, pa.Table]:
    """Make tables of samples and of refused figures; N/A, with or without its reason, is no sample.

    `taken_at` is when the tool ran (ISO text, in `zone` where it tells none).

    Raises:
        BadInputError: the text is no such JSON.
    """
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        document = None
    held = document if isinstance(document, dict) else {}
    cards = {key: card for key, card in held.items() if key[:4] == "card" and isinstance(card, dict)}
    if not cards:
        message = "no card in this rocm-smi document"
        raise BadInputError(message)
    rows = [{"time": taken_at, "index": key[4:]} | _row(card) for key, card in cards.items()]
    names = ("time", "index", *_COLUMNS)
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in names}
    return to_tables(pa.RecordBatch.from_pydict(columns), zone, where)


def _row(card: Mapping[str, Any]) -> dict[str, str | None]:
    return {
        name: next((_told(card[key]) for key in keys if key in card), None) for name, keys in _COLUMNS.items()
    }


def _told(value: Any) -> str | None:
    return None if str(value).startswith("N/A") else str(value)
