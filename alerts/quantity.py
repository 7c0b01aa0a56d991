"""Numbers with units as people write them in rules: 60s, 15min, 2h, 5%."""

import re

from taximeter.errors import SettingsError

_FACTORS = {"": 1.0, "ms": 0.001, "s": 1.0, "min": 60.0, "h": 3_600.0, "d": 86_400.0, "%": 0.01}
_QUANTITY = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+))\s*(ms|s|min|h|d|%)?")


def read_quantity(text: str) -> float:
    """Read a number; times become seconds, percentages become ratios.

    Raises:
        SettingsError: it is no number, or its unit is none of ms, s, min, h, d, %.
    """
    match = _QUANTITY.fullmatch(text.strip())
    if match is None:
        message = f"{text!r} is no quantity; write one such as 60s, 15min, 2h, 5% or 0.5"
        raise SettingsError(message)
    return float(match[1]) * _FACTORS[match[2] or ""]
