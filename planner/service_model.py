"""How long a model call takes: as the user assumes it, and how much slower it is in company."""

from math import isnan, sqrt
from typing import NamedTuple

from taximeter.errors import BadInputError

_KEYS = ("prefill_tokens_per_s", "decode_tokens_per_s", "fixed_s")
_PREFILL, _CACHED, _DECODE = 10.0, 1.0, 40.0  # work per token, as the ledger weighs it
_LEAST_CALLS = 200
_LEAST_SPREAD = 0.5
_LEAST_T = 3.0
_TOO_FAST = 1e12


class ServiceModel(NamedTuple):
    """Seconds a call takes alone: a fixed part, the prompt's tokens, the answer's tokens."""

    prefill_tokens_per_s: float
    decode_tokens_per_s: float
    fixed_s: float = 0.0

    def seconds(self, input_tokens: float, output_tokens: float) -> float:
        """Tell how long a call takes with nobody beside it."""
        return (
            self.fixed_s + input_tokens / self.prefill_tokens_per_s + output_tokens / self.decode_tokens_per_s
        )

    def __str__(self) -> str:
        return ",".join(f"{key}={value:g}" for key, value in zip(_KEYS, self, strict=True) if value)


def read_service_model(text: str) -> ServiceModel:
    """Read `prefill_tokens_per_s=8000,decode_tokens_per_s=60`, with `fixed_s=0.05` if wanted.

    Raises:
        BadInputError: a part is missing, unknown or no positive number.
    """
    found: dict[str, float] = {}
    for part in text.split(","):
        name, _, figure = part.partition("=")
        try:
            found[name.strip()] = float(figure)
        except ValueError:
            found[name.strip()] = -1.0
    bad = [name for name, figure in found.items() if name not in _KEYS or not 0 <= figure < _TOO_FAST]
    if bad or not all(found.get(name) for name in _KEYS[:2]):
        message = (
            f"--service-model {text!r} must look like prefill_tokens_per_s=8000,decode_tokens_per_s=60"
            " (and fixed_s=0.05 if there is one)"
        )
        raise BadInputError(message)
    return ServiceModel(**found)


class Call(NamedTuple):
    """One served call for the fit: seconds served, who else was served beside it on average, its tokens."""

    service_s: float
    company: float
    input_tokens: float
    cached_tokens: float
    output_tokens: float


class SlowDown(NamedTuple):
    """How much longer a call takes per other call on its replica: time = alone x (1 + ratio x others)."""

    ratio: float
    note: str


def fit_slow_down(calls: list[Call]) -> SlowDown:
    """Fit the slow-down of a call by its company where the recording tells it; else none, with the reason.

    Least squares of `service = a u + b u others` over calls of known tokens, u the ledger's work of the
    tokens; the ratio is b / a. Taken only where it is three standard errors from 0.
    """
    known = [call for call in calls if not isnan(call.input_tokens) and not isnan(call.output_tokens)]
    if len(known) < _LEAST_CALLS:
        return SlowDown(
            0.0, f"no slow-down by company: {len(known)} calls with known tokens, {_LEAST_CALLS} needed"
        )
    mean = sum(call.company for call in known) / len(known)
    spread = sqrt(sum((call.company - mean) ** 2 for call in known) / len(known))
    if spread < _LEAST_SPREAD:
        return SlowDown(
            0.0, "no slow-down by company: the calls were served in the same company all the time"
        )
    alone, more, error = _least_squares([(call.service_s, _work(call), call.company) for call in known])
    if alone <= 0 or more <= 0 or more < _LEAST_T * error:
        return SlowDown(0.0, "no slow-down by company: the recording shows none that is sure")
    return SlowDown(
        more / alone, f"a call takes {more / alone:.1%} longer per other call (fitted on {len(known)})"
    )


def _work(call: Call) -> float:
    cached = 0.0 if isnan(call.cached_tokens) else min(call.cached_tokens, call.input_tokens)
    fresh = call.input_tokens - cached
    return max(_PREFILL * fresh + _CACHED * cached + _DECODE * call.output_tokens, 1.0)


def _least_squares(rows: list[tuple[float, float, float]]) -> tuple[float, float, float]:
    """Fit y = a u + b u n; give a, b and the standard error of b."""
    uu = sum(u * u for _, u, _ in rows)
    uv = sum(u * u * n for _, u, n in rows)
    vv = sum((u * n) ** 2 for _, u, n in rows)
    yu = sum(y * u for y, u, _ in rows)
    yv = sum(y * u * n for y, u, n in rows)
    determinant = uu * vv - uv * uv
    if determinant <= 1e-9 * uu * vv:
        return 0.0, 0.0, 1.0
    a = (yu * vv - yv * uv) / determinant
    b = (yv * uu - yu * uv) / determinant
    rest = sum((y - a * u - b * u * n) ** 2 for y, u, n in rows) / (len(rows) - 2)
    return a, b, sqrt(rest * uu / determinant)
