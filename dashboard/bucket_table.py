"""The table of buckets, the same on the first page and on a task's: the waterfall in numbers."""

from collections.abc import Sequence

from dashboard.charts.money import SINGLE_PASS, bucket_order, factor
from dashboard.palette import colour
from dashboard.source import Row
from dashboard.tables import Column, html_table
from dashboard.words import explain, label, say
from taximeter.units import count, share, usd


def bucket_table(buckets: Sequence[Row]) -> str:
    """Write the buckets of one group; the two of the single pass have no factor."""
    columns = [
        Column(
            "bucket",
            lambda row: label("buckets", row["bucket"]),
            number=False,
            dot=lambda row: colour("buckets", row["bucket"]),
            hint=lambda row: explain("buckets", row["bucket"]),
        ),
        Column("tokens", lambda row: count(row["tokens"])),
        Column("cost_usd", lambda row: usd(row["cost_usd"])),
        Column("share_ratio", lambda row: share(row["share_ratio"])),
        Column("factor_ratio", _factor),
    ]
    return html_table(columns, bucket_order(buckets), say("task.buckets"))


def _factor(row: Row) -> str:
    return "" if row["bucket"] in SINGLE_PASS else factor(row["factor_ratio"])
