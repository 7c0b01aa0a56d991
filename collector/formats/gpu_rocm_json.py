"""What `rocm-smi --json` printed: one object per card, every figure as text, and no time."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from collector.formats.gpu_samples import to_tables
from taximeter.errors import BadInputError

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
