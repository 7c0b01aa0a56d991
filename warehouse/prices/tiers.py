"""Service tiers: the same model sold at another price for answers that may come late, or must come soon."""

import csv
from collections.abc import Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from pathlib import Path
from typing import NamedTuple

from warehouse.prices.compose import compose
from warehouse.prices.rows import TokenPrice

_SEED = Path(__file__).parents[1] / "seeds" / "service_tiers.csv"


class Share(NamedTuple):
    """What a seller asks in a tier, as a share of its ordinary price."""

    sold_as: str  # glob of `provider/model` of the catalogue
    service_tier: str
    price_ratio: Decimal
    source: str


@cache
def shares() -> tuple[Share, ...]:
    """Read the published shares; a tier without one has no price unless the user's file gives it."""
    with _SEED.open(encoding="utf-8", newline="") as file:
        return tuple(
            Share(row["sold_as"], row["service_tier"], Decimal(row["price_ratio"]), row["source"])
            for row in csv.DictReader(file)
        )


def ordinary(rows: Sequence[TokenPrice]) -> list[TokenPrice]:
    """Keep the rows that are for no tier of their own."""
    return [row for row in rows if row.service_tier is None]


def with_tiers(name: str, rows: list[TokenPrice], own: Sequence[TokenPrice]) -> list[TokenPrice]:
    """Add the rows of every tier that is sold: made from the ordinary rows by share, cut by the user's own.

    Args:
        name: what the ordinary rows are called, `provider/model` where a catalogue has them.
        rows: the ordinary rows.
        own: the user's rows for this model, those of tiers among them, oldest first.
    """
    sold = name.removeprefix("yours:")
    share_of = {share.service_tier: share for share in shares() if fnmatchcase(sold, share.sold_as)}
    mine = {row.service_tier for row in own if row.service_tier}
    found = list(rows)
    for tier in sorted(mine | share_of.keys()):
        listed = [_at_share(row, share_of[tier]) for row in rows] if tier in share_of else []
        found += compose(listed, [row for row in own if row.service_tier == tier])
    return found


def _at_share(row: TokenPrice, share: Share) -> TokenPrice:
    def part(usd: Decimal | None) -> Decimal | None:
        return None if usd is None else usd * share.price_ratio

    return row._replace(
        input_usd=row.input_usd * share.price_ratio,
        cache_read_usd=part(row.cache_read_usd),
        cache_write_usd=part(row.cache_write_usd),
        cache_write_1h_usd=part(row.cache_write_1h_usd),
        output_usd=row.output_usd * share.price_ratio,
        source=f"{row.source}; {share.service_tier} at {share.price_ratio} of it ({share.source})",
        service_tier=share.service_tier,
    )
