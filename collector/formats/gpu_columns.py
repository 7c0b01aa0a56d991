"""Which column of a GPU sample file is which: the one reader of gpu_columns.yaml."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import yaml

from warehouse.rows import GPU_METRICS


class MetricColumn(NamedTuple):
    """A column that holds a metric: times `factor` it is in our unit; `unit` may stand behind the number."""

    name: str
    metric: str
    factor: float
    unit: str


class Columns(NamedTuple):
    """The columns of one file, by their meaning; names are the file's own."""

    identity: dict[str, str]
    metrics: tuple[MetricColumn, ...]

    @property
    def is_complete(self) -> bool:
        """Whether the file tells when, which GPU and at least one figure; else it is something else."""
        names_gpu = bool({"gpu_uuid", "gpu", "gpu_index", "bus_id"} & self.identity.keys())
        return "time" in self.identity and names_gpu and bool(self.metrics)


@cache
def words() -> dict[str, Any]:
    """Read the table of names and of words for "no value"."""
    text = files("collector.formats").joinpath("gpu_columns.yaml").read_text(encoding="utf-8")
    table: dict[str, Any] = yaml.safe_load(text)
    unknown = table["metrics"].keys() - GPU_METRICS.keys()
    if unknown:
        message = f"gpu_columns.yaml names metrics that nobody knows: {sorted(unknown)}"
        raise ValueError(message)
    return table


def find_columns(names: Iterable[str]) -> Columns:
    """Find the meaning of each column; of two names for one thing the first in the table counts."""
    by_name = {name.strip().lower(): name for name in reversed(list(names))}
    table = words()
    identity = {}
    for meaning, aliases in table["identity"].items():
        found = next((by_name[alias] for alias in aliases if alias in by_name), None)
        if found is not None:
            identity[meaning] = found
    metrics = []
    for metric, aliases in table["metrics"].items():
        alias = next((alias for alias in aliases if alias in by_name), None)
        if alias is not None:
            unit = str(aliases[alias].get("unit", ""))
            metrics.append(MetricColumn(by_name[alias], metric, float(aliases[alias]["factor"]), unit))
    return Columns(identity, tuple(metrics))
