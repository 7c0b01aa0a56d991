"""GPU prices that cannot be right: more than three times off what others ask for the same card.

Price lists mix up the price of a card, of an instance and of a month; a median over sellers shows it. Spot
prices are compared among themselves, for they are a third of the same seller's price on demand, and right;
and they differ so much that one other seller proves nothing.
"""

from collections.abc import Iterable
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from warehouse.prices.rows import GpuPrice

FAR_OFF = 3
_SHARED = Decimal("1.5")  # whoever asks nearly as much as another seller made no slip
_SPOT = "spot"


class Outlier(NamedTuple):
    """A row, and the median of the other sellers' rows for the same card."""

    row: GpuPrice
    median_usd: Decimal
    sellers: int


def find_outliers(judged: Iterable[GpuPrice], known: Iterable[GpuPrice]) -> list[Outlier]:
    """List the rows that are more than three times off the median of the others, and stand alone there.

    Each seller counts once, with the median of what it asks; a row that no other seller stands beside is not
    judged.

    Args:
        judged: the rows to look at.
        known: all rows to compare with; those of the judged row's own provider are left out.
    """
    asked: dict[tuple[str, bool], dict[str, list[Decimal]]] = {}
    for row in known:
        sellers = asked.setdefault((row.sku, row.kind == _SPOT), {})
        sellers.setdefault(row.provider, []).append(row.usd_per_gpu_hour)
    found: list[Outlier] = []
    for row in judged:
        beside = asked.get((row.sku, row.kind == _SPOT), {})
        others = [median(prices) for provider, prices in beside.items() if provider != row.provider]
        if len(others) < (2 if row.kind == _SPOT else 1):
            continue
        usd, middle = row.usd_per_gpu_hour, median(others)
        if not _is_near(usd, middle, FAR_OFF) and not any(_is_near(usd, other, _SHARED) for other in others):
            found.append(Outlier(row, middle, len(others)))
    return found


def _is_near(usd: Decimal, other: Decimal, times: Decimal | int) -> bool:
    return other <= usd * times and usd <= other * times
