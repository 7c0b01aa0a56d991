"""Sums and shares over rows of reports: pure, and careful that an unknown part never becomes a zero."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from taximeter.units import share

Row = dict[str, Any]
ALMOST_ALL = 0.9995


class Sum(NamedTuple):
    """A sum of money over rows of which some may be unknown."""

    usd: Decimal | None  # of the rows that are known; None where none is
    partly: bool  # some rows are unknown, so the sum is a lower bound


def add(rows: Iterable[Row], column: str) -> Sum:
    """Sum a money column; no rows at all make an unknown sum, not zero."""
    values = [row[column] for row in rows]
    known = [value for value in values if value is not None]
    return Sum(sum(known, Decimal(0)) if known else None, len(known) < len(values))


def cautious(amount: Sum, *known: float | None) -> Sum:
    """Judge a sum of a report that leaves out what it does not know by the shares that are known.

    Zero beside something unknown is unknown, and so is zero of something that is not there at all (no share).
    """
    partly = amount.partly or any(ratio is not None and ratio < 1 for ratio in known)
    absent = all(ratio is None for ratio in known)
    if not amount.usd and (partly or absent):
        return Sum(None, partly)
    return Sum(amount.usd, partly)


def weighted_share(table: pa.Table, ratio: str, weight: str) -> float | None:
    """Average a ratio over rows by a weight; an unknown ratio counts as nothing known of its row.

    None where there is no weight at all.
    """
    weights = pc.fill_null(table[weight].cast(pa.float64()), 0.0)
    known = pc.multiply(pc.fill_null(table[ratio], 0.0), weights)
    whole = pc.sum(weights, min_count=0).as_py()
    return pc.sum(known, min_count=0).as_py() / whole if whole else None


def share_text(ratio: float | None) -> str:
    """Write a share so that only all of it is 100 % and only nothing of it is 0 %; a dash if unknown."""
    if ratio is not None and ALMOST_ALL < ratio < 1:
        return f">{share(0.999)}"
    if ratio is not None and 0 < ratio < 1 - ALMOST_ALL:
        return f"<{share(0.001)}"
    return share(ratio)


class LedgerShares(NamedTuple):
    """What share of the GPU-seconds held is what; None where no GPU-second is held."""

    known: float | None
    estimated: float | None
    provisional: float | None
    priced: float | None


def condense(ledger: pa.Table) -> list[Row]:
    """Sum the GPU ledger over GPUs and deployments: a long range of a large fleet becomes few rows.

    One row per quarter-hour, state, provenance, provisional and priced (its cost is known), with gpu_s.
    """
    keys = ["quarter_at", "state", "provenance", "provisional", "priced"]
    priced = ledger.append_column("priced", pc.is_valid(ledger["cost_usd"]))
    summed: list[Row] = priced.group_by(keys).aggregate([("gpu_s", "sum")]).to_pylist()
    return [{"gpu_s": row.pop("gpu_s_sum"), **row} for row in summed]


def ledger_shares(rows: Sequence[Row]) -> LedgerShares:
    """Read the shares off condensed rows of the GPU ledger."""
    whole = sum(row["gpu_s"] or 0.0 for row in rows)

    def part(chosen: Iterable[Row]) -> float | None:
        return sum(row["gpu_s"] or 0.0 for row in chosen) / whole if whole else None

    return LedgerShares(
        known=part(row for row in rows if row["state"] != "unknown"),
        estimated=part(row for row in rows if row["provenance"] == "estimated"),
        provisional=part(row for row in rows if row["provisional"]),
        priced=part(row for row in rows if row["priced"]),
    )


def dearest(table: pa.Table, column: str, limit: int) -> list[Row]:
    """Take the rows with the most money; rows whose money is unknown come last."""
    found: list[Row] = table.sort_by([(column, "descending")]).slice(0, limit).to_pylist()
    return found


def by_money(rows: Iterable[Row]) -> list[Row]:
    """Sort rows by their cost, the dearest first and unknown costs last."""
    return sorted(rows, key=lambda row: (row["cost_usd"] is None, -(row["cost_usd"] or 0)))


def check_value(health: Iterable[Row], check: str) -> float | None:
    """Read one check's value from the health report; None if it is not there or no number."""
    for row in health:
        if row["check"] == check:
            return None if row["value"] is None else float(row["value"])
    return None


def is_simulated(health: Iterable[Row]) -> bool:
    """Tell whether the store holds rows that a generator made."""
    return (check_value(health, "simulated_rows") or 0) > 0


def gpu_names(rows: Iterable[Row]) -> dict[str, str]:
    """Name each GPU id shortly: deployment, replica, and the start of the card's own id."""
    names: dict[str, str] = {}
    for row in rows:
        gpu_id = str(row["gpu_id"])
        if gpu_id not in names:
            parts = (row.get("deployment"), row.get("replica"), "·", short_id(gpu_id).rpartition(" ")[2])
            names[gpu_id] = " ".join(part for part in parts if part).removeprefix("· ")
    return names


def short_id(gpu_id: str) -> str:
    """Shorten host/uuid/bus id to what a person needs: the host and the start of the uuid."""
    parts = gpu_id.split("/")
    if parts[0] == "declared" or len(parts) < 2:  # noqa: PLR2004
        return gpu_id.removeprefix("declared/")
    return f"{parts[0]} {parts[1].removeprefix('GPU-')[:8]}"
