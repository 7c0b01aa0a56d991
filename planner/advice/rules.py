"""The thresholds and words that advice rests on, read from rules.toml and words.toml."""

import re
import tomllib
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

_HERE = Path(__file__).parent
_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
MONTH_HOURS = 730  # 8,760 hours a year over twelve months


def rule(section: str, name: str) -> float:
    """Give a threshold.

    Raises:
        KeyError: there is no such threshold.
    """
    return float(_read("rules.toml")[section][name])


def match(group: str, *names: str | None) -> tuple[str, str] | None:
    """Tell what a name says: (what, the word that says it); None where no name says anything of the group."""
    for what, words in _read("words.toml")[group].items():
        for name in names:
            parts = [part.lower() for part in _PARTS.findall(name or "")]
            pairs = [*parts, *(first + second for first, second in pairwise(parts))]
            for word in words:
                if any(part.startswith(word) for part in pairs):
                    return str(what), str(word)
    return None


@cache
def _read(name: str) -> dict[str, Any]:
    return tomllib.loads((_HERE / name).read_text(encoding="utf-8"))
