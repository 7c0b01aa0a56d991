"""What all points of one series share: the columns of `samples` and `points` beside time and value."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from collector.decode.flat_metrics import Stream
from collector.sources.read import Meaning, Reading, read
from warehouse.rows import GPU_METRICS

LONGEST_TEXT = 200  # an attribute longer than this is no dimension and may hold content
_GPU_PREFIX = "taximeter.gpu."
_DEPLOYMENT = "taximeter.deployment"
_PLACE = ("service.instance.id", _DEPLOYMENT)  # else equal series of two instances would be one stream


def gpu_metric(name: str) -> str | None:
    """Name the canonical GPU metric of a stream's name, null where it is none."""
    metric = name.removeprefix(_GPU_PREFIX)
    return metric if name.startswith(_GPU_PREFIX) and metric in GPU_METRICS else None


def foreign_metric(
    meanings: Mapping[str, Meaning], stream: Stream, attributes: Mapping[str, Any]
) -> Reading | None:
    """Understand another exporter's series; null for what is no instant figure or no GPU's.

    A delta would be read as the whole of a counter, a histogram as a figure: both stay points.
    """
    is_figure = stream.kind in {"gauge", "sum"} and stream.temporality != "delta"
    return read(meanings, stream.name, attributes) if is_figure else None


def of_foreign_samples(tenant: str, stream: Stream, reading: Reading) -> dict[str, Any]:
    """Say which GPU another exporter measured; the host it names counts before the one that passed it on."""
    told = reading.identity
    return {
        "tenant": tenant,
        "host": _text(told.get("host") or stream.resource.get("host.name")),
        "gpu_uuid": _card(told.get("gpu_uuid"), told.get("bus_id"), told.get("gpu_index")),
        "bus_id": _text(told.get("bus_id")),
        "gpu_index": _whole(told.get("gpu_index")),
        "gpu_name": _text(told.get("gpu_name")),
        "parent_uuid": _text(told.get("parent_uuid")),
        "slices": _whole(told.get("slices")),
        "deployment": _text(stream.resource.get(_DEPLOYMENT)),
        "workload": _text(told.get("workload")),
        "source": reading.source,
        "metric": reading.metric,
        "pid": _whole(told.get("pid")),
        "simulated": is_simulated(stream.resource),
    }


def is_simulated(resource: Mapping[str, Any]) -> bool:
    """Tell whether a resource says that its data is simulated."""
    return str(resource.get("taximeter.simulated", "")).lower() == "true"


def of_samples(tenant: str, stream: Stream, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Say which GPU was measured, and by whom."""
    return {
        "tenant": tenant,
        "host": _text(stream.resource.get("host.name")),
        "gpu_uuid": _card(*(attributes.get(f"gpu.{key}") for key in ("uuid", "bus_id", "index"))),
        "bus_id": _text(attributes.get("gpu.bus_id")),
        "gpu_index": _whole(attributes.get("gpu.index")),
        "gpu_name": _text(attributes.get("gpu.name")),
        "parent_uuid": _text(attributes.get("gpu.parent_uuid")),
        "slices": _whole(attributes.get("gpu.slices")),
        "deployment": _text(attributes.get(_DEPLOYMENT) or stream.resource.get(_DEPLOYMENT)),
        "served_model": _text(attributes.get("served.model")),
        "served_port": _whole(attributes.get("served.port")),
        "workload": _text(attributes.get("k8s.workload")),
        "source": _text(attributes.get("gpu.source") or stream.scope_source) or "nvml",
        "metric": gpu_metric(stream.name),
        "pid": _whole(attributes.get("process.pid")),
        "simulated": is_simulated(stream.resource),
    }


def of_points(tenant: str, stream: Stream, attributes: Mapping[str, Any]) -> dict[str, Any]:
    """Say which stream the points belong to; its hash knows it again in other requests."""
    place = {key: stream.resource[key] for key in _PLACE if key in stream.resource}
    kept = {key: held for key, held in {**place, **attributes}.items() if len(str(held)) <= LONGEST_TEXT}
    row = {
        "tenant": tenant,
        "host": _text(stream.resource.get("host.name")),
        "service_name": _text(stream.resource.get("service.name")),
        "scope_name": stream.scope_name,
        "metric": stream.name[:LONGEST_TEXT],
        "unit": stream.unit,
        "kind": stream.kind,
        "temporality": stream.temporality,
        "monotonic": stream.monotonic,
        "attributes": json.dumps(kept, sort_keys=True, ensure_ascii=False, separators=(",", ":")),
        "simulated": is_simulated(stream.resource),
    }
    stream_hash = hashlib.blake2b(json.dumps(row, sort_keys=True).encode(), digest_size=16).hexdigest()
    return row | {"stream_hash": stream_hash}


def _card(uuid: Any, bus_id: Any, index: Any) -> str | None:
    """Name a card by its uuid; one known by its number alone is named by it, else all of a host were one."""
    number = _whole(index)
    is_number_all = number is not None and _text(bus_id) is None
    return _text(uuid) or (f"index-{number}" if is_number_all else None)


def _text(value: Any) -> str | None:
    return None if value in (None, "") else str(value)[:LONGEST_TEXT]


def _whole(value: Any) -> int | None:
    """Read a small whole number, however it was sent; anything else is unknown."""
    text = str(value).strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= 12 else None  # noqa: PLR2004
