"""A table of GPU figures with names of its own, read by a map that its owner writes."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from collector.formats.gpu_columns import Columns, MetricColumn
from collector.formats.gpu_samples import read_csv
from collector.formats.source import open_plain, read_head
from taximeter.errors import BadInputError
from warehouse.rows import GPU_METRICS

_IDENTITY = {"time", "host", "gpu_uuid", "gpu_index", "bus_id", "gpu_name", "pid"}
_NAMES_GPU = {"gpu_uuid", "gpu_index", "bus_id"}
_METRIC_KEYS = {"metric", "factor", "unit"}


def read_gpu_series(path: Path, map_path: Path, zone: str | None) -> Iterator[dict[str, pa.Table]]:
    """Hand on tables of samples and of refused cells of a CSV file, packed or not.

    The map is YAML: `columns` names the file's column of each meaning (time, gpu_uuid, ...), `metrics` says
    of each column with figures which GPU metric it is and by what `factor` it is in that metric's unit.

    Raises:
        BadInputError: the map has an unknown key, or names a column that the file lacks; the file is no CSV.
    """
    columns = read_map(map_path)
    head = read_head(path)
    first = head.decode("utf-8-sig", "replace").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    names = {name.strip() for name in first.split(delimiter)}
    wanted = {*columns.identity.values(), *(column.name for column in columns.metrics)}
    _refuse(path, "lacks columns", wanted - names)
    with open_plain(path) as file:
        yield from read_csv(file, head, zone, path.name, columns)


def read_map(path: Path) -> Columns:
    """Read which column is what.

    Raises:
        BadInputError: it is no such map, or names what nobody knows.
    """
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        message = f"{path.name} is no YAML"
        raise BadInputError(message) from error
    if not isinstance(table, dict) or not all(isinstance(part, dict) for part in table.values()):
        message = f"{path.name} needs `columns` and `metrics`"
        raise BadInputError(message)
    _refuse(path, "has unknown parts", table.keys() - {"columns", "metrics"})
    identity = {meaning: str(name) for meaning, name in table.get("columns", {}).items()}
    _refuse(path, "has unknown columns", identity.keys() - _IDENTITY)
    metrics = tuple(_metric(path, str(name), said) for name, said in table.get("metrics", {}).items())
    if "time" not in identity or not metrics or not _NAMES_GPU & identity.keys():
        message = f"{path.name} must name the columns of time and GPU, and one metric"
        raise BadInputError(message)
    return Columns(identity, metrics)


def _metric(path: Path, name: str, said: Mapping[str, Any]) -> MetricColumn:
    if not isinstance(said, dict) or not {"metric", "factor"} <= said.keys():
        message = f"{path.name}: {name} needs a metric and a factor"
        raise BadInputError(message)
    _refuse(path, "has unknown keys", said.keys() - _METRIC_KEYS)
    _refuse(path, "has unknown metrics", {str(said["metric"])} - GPU_METRICS.keys())
    if isinstance(said["factor"], bool) or not isinstance(said["factor"], int | float):
        message = f"{path.name}: the factor of {name} is no number"
        raise BadInputError(message)
    return MetricColumn(name, said["metric"], float(said["factor"]), str(said.get("unit", "")))


def _refuse(path: Path, what: str, names: set[str]) -> None:
    if names:
        message = f"{path.name} {what}: {', '.join(sorted(names))}"
        raise BadInputError(message)
