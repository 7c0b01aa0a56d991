"""What to do when the driver answers with an error: the table in reactions.csv, one line per return code.

unknown    the field has no value for this card; asked again only after a while
later      no value this time; asked again with growing pauses
relist     the handle or index is stale: enumerate the cards again
lost       the card is gone but still billed: `up` is 0 until it answers again
restart    connect to the driver again
no_driver  this machine has no NVIDIA driver, which is a normal answer
mismatch   the driver was replaced under us; only a restart of the machine mends it
"""

import csv
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple, cast, get_args

Kind = Literal["unknown", "later", "relist", "lost", "restart", "no_driver", "mismatch"]


class Reaction(NamedTuple):
    """What a return code means for the field or the card that met it."""

    name: str
    kind: Kind
    hint: str


@cache
def _table() -> dict[int, Reaction]:
    text = files("collector.agent").joinpath("reactions.csv").read_text(encoding="utf-8")
    table = {}
    for row in csv.DictReader(text.splitlines()):
        if row["reaction"] not in get_args(Kind):
            message = f"reactions.csv: {row['name']} has no such reaction: {row['reaction']}"
            raise ValueError(message)
        table[int(row["code"])] = Reaction(row["name"], cast("Kind", row["reaction"]), row["hint"])
    return table


def reaction(code: int) -> Reaction:
    """Look up a return code; a code newer than the table is asked again later."""
    return _table().get(code, Reaction(f"CODE_{code}", "later", ""))
