"""One colour per state, bucket, kind and provenance, and the order they are drawn in; from palette.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILE = Path(__file__).with_name("palette.toml")


def colour(group: str, name: str | None) -> str:
    """Give the colour of a name as #rrggbb; names that the file does not know share one quiet grey."""
    shades = _palette()
    return str(shades[group].get(name or "", shades["general"]["other"]))


def order(group: str) -> tuple[str, ...]:
    """Give the names of a group in the order of drawing: the file's own order."""
    return tuple(_palette()[group])


def in_order(group: str, names: set[str]) -> list[str]:
    """Sort the given names by the file's order; unknown ones come last, by name."""
    known = [name for name in order(group) if name in names]
    return known + sorted(names - set(known))


@cache
def _palette() -> dict[str, dict[str, Any]]:
    return tomllib.loads(FILE.read_text(encoding="utf-8"))
