"""Files that tell nothing by themselves: a map says what they are, its owner's or one that is shipped."""

from collections.abc import Callable
from pathlib import Path

from collector.formats.detect import Reading
from collector.formats.gpu_map import read_gpu_series
from collector.formats.gpu_map import read_map as read_gpu_map
from collector.formats.request_log import read_requests
from collector.formats.request_map import find_map, read_map
from taximeter.errors import BadInputError

KINDS = ("requests", "gpu")


def reader_by_map(kind: str | None, name: str | None, zone: str | None) -> Callable[[Path], Reading] | None:
    """Make what reads every file by one map; none where neither a kind nor a map is named.

    Args:
        kind: one of KINDS.
        name: a map's file, or the name of one that is shipped.
        zone: how GPU times without a zone are read.

    Raises:
        BadInputError: there is no such map, it is none, or only one of the two is named.
    """
    if kind is None and name is None:
        return None
    if kind not in KINDS or name is None:
        message = "--as and --map go together: --as requests --map azure-llm-inference, --as gpu --map FILE"
        raise BadInputError(message)
    file = find_map(name)
    if kind == "gpu":
        read_gpu_map(file)
        return lambda path: Reading("gpu-by-map", lambda _: read_gpu_series(path, file, zone))
    told = read_map(file)
    return lambda path: Reading(told.kind, lambda opened: read_requests(opened, told, path.name))
