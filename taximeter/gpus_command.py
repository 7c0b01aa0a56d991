"""`taximeter gpus`: which GPU serves which deployment, who says so, and which nobody claims."""

import importlib
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from taximeter import settings

TEXT = "text"
_REPORT = "gpus"
_PLACED_BY = {
    "uuid": "its uuid in the settings",
    "attribute": "the deployment its samples name",
    "address": "the address its process listens on",
    "model": "the model its process serves",
    "workload": "the pod that holds it",
    "sku": "its SKU, dealt by host and number",
    "declared": "the settings alone: no sample yet",
}

Row = dict[str, Any]


def run(*, output: str, url: str | None, config: Path | None, data: Path | None) -> None:
    """Write the map of GPUs to standard output, as text or as the report `gpus` in another format.

    Raises:
        TaximeterError: nobody answers, or the format is none.
    """
    values = settings.load(config, data=data)
    warehouse = importlib.import_module("warehouse")
    if output != TEXT:
        sys.stdout.buffer.write(warehouse.answer(values, _REPORT, {}, output, url=url))
        return
    rows: list[Row] = json.loads(warehouse.answer(values, _REPORT, {}, "json", url=url))
    sys.stdout.write("\n".join(as_lines(rows)) + "\n")


def as_lines(rows: Iterable[Row]) -> Iterator[str]:
    """Write the map, a block per deployment, what is unmatched last with the reason."""
    held = list(rows)
    if not held:
        yield "No GPU is known: neither do samples arrive nor do the settings declare one."
        yield "Start `taximeter agent` on a GPU node, or add `deployments:` to taximeter.yaml."
        return
    for deployment, group in groupby(held, key=lambda row: row["deployment"]):
        yield deployment or "no deployment"
        for row in group:
            yield from _card(row)
    matched = sum(row["deployment"] is not None for row in held)
    yield ""
    yield f"{matched} of {len(held)} GPUs belong to a deployment."


def _card(row: Row) -> Iterator[str]:
    replica = f"replica {row['replica']}" if row["replica"] is not None else "-"
    what = row["sku"] or row["gpu_name"] or "unknown card"
    share = f" ({row['slices']}/7 of {row['parent_uuid']})" if row["slices"] else ""
    yield f"  {replica:<11} {row['gpu_id']}  {what}{share}  {row['state'] or 'no state yet'}{_figures(row)}"
    if row["deployment"] is not None:
        yield f"{'':14}by {_PLACED_BY[row['placed_by']]}; {_price(row)}{_sources(row)}"
    else:
        yield f"{'':14}{row['unmatched']}; {_price(row)}{_sources(row)}"
    if row["contradiction"]:
        yield f"{'':14}! {row['contradiction']}"


def _figures(row: Row) -> str:
    told = []
    if row["util_ratio"] is not None:
        told.append(f"{100 * row['util_ratio']:.0f} % busy")
    if row["power_w"] is not None:
        told.append(f"{row['power_w']:.0f} W")
    if row["memory_used_mib"] is not None:
        told.append(f"{row['memory_used_mib'] / 1024:.1f} GiB")
    return f"  {', '.join(told)}" if told else ""


def _price(row: Row) -> str:
    if row["usd_per_hour"] is None:
        return "no price is known"
    return f"${float(row['usd_per_hour']):.4g} an hour ({row['price_source']})"


def _sources(row: Row) -> str:
    if row["sources"] is None:
        return ""
    return f"; told by {row['sources']}" + (f" under {row['names']} names" if row["names"] > 1 else "")
