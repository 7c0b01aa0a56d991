"""What `nvidia-smi -q -x` printed: one document of one instant, all cards and the processes on them."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import BinaryIO
from xml.etree.ElementTree import Element, TreeBuilder  # only builds; reading is the strict parser below
from xml.parsers import expat

import pyarrow as pa

from collector.formats.gpu_samples import to_tables
from taximeter.errors import BadInputError

_ROOT = b"<nvidia_smi_log"
_MOST_BYTES = 64 * 1024 * 1024
_TIME = "%a %b %d %H:%M:%S %Y"
# Names are those of the same tool's query mode; of several places the first that is there counts.
_PLACES = {
    "uuid": ("uuid",),
    "name": ("product_name",),
    "utilization.gpu": ("utilization/gpu_util",),
    "utilization.memory": ("utilization/memory_util",),
    "memory.total": ("fb_memory_usage/total",),
    "memory.used": ("fb_memory_usage/used",),
    "memory.reserved": ("fb_memory_usage/reserved",),
    "power.draw": (
        "gpu_power_readings/power_draw",
        "gpu_power_readings/instant_power_draw",
        "power_readings/power_draw",
    ),
    "power.limit": (
        "gpu_power_readings/current_power_limit",
        "gpu_power_readings/power_limit",
        "power_readings/power_limit",
    ),
}
_COLUMNS = ("time", "bus_id", "pid", *_PLACES, "process_memory_mib")


def is_smi_xml(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is such a document."""
    return _ROOT in head


def read_smi_file(
    file: BinaryIO, zone: str | None, where: str, taken_at: str | None = None
) -> Iterator[dict[str, pa.Table]]:
    """Read such a document from a file; see `read_smi_xml`.

    Raises:
        BadInputError: it is larger than any such document, is cut, or declares entities.
    """
    text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        message = f"an nvidia-smi document of more than {_MOST_BYTES:,} bytes"
        raise BadInputError(message)
    yield read_smi_xml(text, zone, where, taken_at)


def read_smi_xml(
    text: bytes, zone: str | None, where: str, taken_at: str | None = None
) -> dict[str, pa.Table]:
    """Make tables of samples and of refused figures; N/A is no sample.

    The document's time has no zone: it is read in `zone`, and names no instant where that is None.
    A document without a time was taken at `taken_at` (ISO text); where that is None its figures are refused.

    Raises:
        BadInputError: the text is no whole document, or declares entities.
    """
    log = _parse(text)
    rows = [row for gpu in log.iter("gpu") for row in _rows(_time(log) or taken_at, gpu)]
    if not rows:
        message = "no GPU in this nvidia-smi document"
        raise BadInputError(message)
    columns = {name: pa.array([row.get(name) for row in rows], pa.string()) for name in _COLUMNS}
    return to_tables(pa.RecordBatch.from_pydict(columns), zone, where)


def _rows(time: str | None, gpu: Element) -> Iterator[dict[str, str | None]]:
    card = {"time": time, "bus_id": gpu.get("id"), "uuid": _told(gpu, _PLACES["uuid"])}
    yield card | {name: _told(gpu, places) for name, places in _PLACES.items()}
    for process in gpu.findall("processes/process_info"):
        held = {"pid": process.findtext("pid"), "process_memory_mib": process.findtext("used_memory")}
        yield card | held


def _told(gpu: Element, places: Sequence[str]) -> str | None:
    return next((text for place in places if (text := gpu.findtext(place)) is not None), None)


def iso_time(said: str) -> str:
    """Write the tool's own way of telling a time as ISO text; what is no such time comes back as it is."""
    try:
        return datetime.strptime(" ".join(said.split()), _TIME).isoformat(" ")  # noqa: DTZ007 - zone comes later
    except ValueError:
        return said


def _time(log: Element) -> str:
    return iso_time(log.findtext("timestamp") or "")


def _parse(text: bytes) -> Element:
    """Build the tree with entities refused: a small file may not unfold into a large one."""
    builder = TreeBuilder()
    parser = expat.ParserCreate()
    parser.StartElementHandler = builder.start
    parser.EndElementHandler = builder.end
    parser.CharacterDataHandler = builder.data
    parser.EntityDeclHandler = _no_entities
    try:
        parser.Parse(text, True)
    except expat.ExpatError as error:
        message = f"broken XML: {error}"
        raise BadInputError(message) from None
    return builder.close()


def _no_entities(*_: object) -> None:
    message = "XML that declares entities is not read"
    raise BadInputError(message)
