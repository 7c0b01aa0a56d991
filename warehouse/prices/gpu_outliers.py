"""GPU prices that cannot be right: further than three times off what others ask for the same card.

Price lists mix up the price of a card, of an instance and of a month; a median over sellers shows it. Kinds
are compared among themselves: a spot price is a third of the same seller's price on demand, and right.
"""

from collections.abc import Iterable
from decimal import Decimal
from statistics import median
from typing import NamedTuple

from warehouse.prices.rows import GpuPrice

FAR_OFF = 3


class Outlier(NamedTuple):
    """A row, and the median of the other sellers' rows for the same card and kind."""

    row: GpuPrice
    median_usd: Decimal
    sellers: int


def find_outliers(judged: Iterable[GpuPrice], known: Iterable[GpuPrice]) -> list[Outlier]:
    """List the rows that are more than three times above or below the median of their SKU and kind.

    Each seller counts once, with the median of what it asks; a row that no other seller stands beside is not
    judged.

    Args:
        judged: the rows to look at.
        known: all rows to compare with; those of the judged row's own provider are left out.
    """
    by_kind: dict[tuple[str, str], dict[str, list[Decimal]]] = {}
    for row in known:
        sellers = by_kind.setdefault((row.sku, row.kind), {})
        sellers.setdefault(row.provider, []).append(row.usd_per_gpu_hour)
    found: list[Outlier] = []
    for row in judged:
        others = [
            median(prices)
            for provider, prices in by_kind.get((row.sku, row.kind), {}).items()
            if provider != row.provider
        ]
        if others and not _is_near(row.usd_per_gpu_hour, median(others)):
            found.append(Outlier(row, median(others), len(others)))
    return found


def _is_near(usd: Decimal, middle: Decimal) -> bool:
    return middle <= usd * FAR_OFF and usd <= middle * FAR_OFF
