"""Everything the screen says, read from words.toml, and what things are called, from terms.toml."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

FILES = tuple(Path(__file__).with_name(name) for name in ("words.toml", "terms.toml"))


def say(key: str, **values: object) -> str:
    """Say the words of a dotted key, with `values` put into their places.

    Raises:
        KeyError: there are no such words, or a place in them got no value.
    """
    found: Any = _words()
    for part in key.split("."):
        found = found[part]
    text = str(found)
    return text.format(**values) if values else text


def label(group: str, name: str | None) -> str:
    """Name a state, bucket, kind, cause or provenance; a name that the data brings itself stays as it is."""
    if name is None:
        return say("general.none")
    known = _words().get(group, {})
    return str(known[name]["label"]) if name in known else name


def explain(group: str, name: str) -> str:
    """Explain a state, bucket or provenance in a sentence; empty for names that the data brings itself."""
    return str(_words().get(group, {}).get(name, {}).get("help", ""))


@cache
def _words() -> dict[str, Any]:
    read: dict[str, Any] = {}
    for file in FILES:
        read |= tomllib.loads(file.read_text(encoding="utf-8"))
    return read
