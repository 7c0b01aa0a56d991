"""The one reader of the source files: which GPU metric a raw series is, in which unit, of which card."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from taximeter.errors import BadInputError
from warehouse.rows import GPU_METRICS

_FOLDER = Path(__file__).parent
_IDENTITY = {"gpu_uuid", "gpu_index", "bus_id", "gpu_name", "host", "pid"}
_LABELS = _IDENTITY | {"namespace", "pod", "container", "slice_id", "slice_profile"}
_KEYS = {"prefixes", "uuid_prefix", "absent", "labels", "metrics"}
_METRIC_KEYS = {"metric", "factor", "of", "where"}
_BARE_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_PROFILE = re.compile(r"(\d)g\.")


class Meaning(NamedTuple):
    """What a raw metric is: times `factor` it is in our unit; `of` says whether card or slice may tell it."""

    source: str
    metric: str
    factor: float
    of: str  # card slice any
    where: Mapping[str, frozenset[str]]
    labels: Mapping[str, tuple[str, ...]]
    uuid_prefix: str
    absent: frozenset[float]


class Reading(NamedTuple):
    """A raw series understood: its metric, the factor into our unit, values that mean none, and the card."""

    source: str
    metric: str
    factor: float
    absent: frozenset[float]
    identity: Mapping[str, str]


def load(paths: Iterable[Path]) -> dict[str, Meaning]:
    """Read source files to meanings by lower-case raw name.

    Raises:
        ValueError: a file has an unknown key, label or metric, or two files claim one name.
    """
    found: dict[str, Meaning] = {}
    for path in sorted(paths):
        for name, meaning in _file(path).items():
            if name in found:
                message = f"{path.name} and {found[name].source}.toml both claim {name}"
                raise ValueError(message)
            found[name] = meaning
    return found


@cache
def built_in() -> dict[str, Meaning]:
    """Read the files that stand beside this reader, once."""
    return load(_FOLDER.glob("*.toml"))


def read(meanings: Mapping[str, Meaning], name: str, attributes: Mapping[str, Any]) -> Reading | None:
    """Understand a raw series; null where no file knows it, or it does not speak of a card or slice."""
    meaning = next((meanings[key] for key in _spellings(name.lower()) if key in meanings), None)
    if meaning is None:
        return None
    held = {key.lower(): str(value).strip() for key, value in attributes.items()}
    if any(held.get(key, "") not in allowed for key, allowed in meaning.where.items()):
        return None
    told = {label: _first(held, keys) for label, keys in meaning.labels.items()}
    kind = "slice" if told.get("slice_id") else "card"
    if meaning.of not in {"any", kind}:
        return None
    identity = _identity(told, meaning.uuid_prefix)
    return Reading(meaning.source, meaning.metric, meaning.factor, meaning.absent, identity)


def _spellings(name: str) -> tuple[str, str]:
    """Give a name as told, then with `_total` put on or taken off, as collectors on the way do."""
    return name, name.removesuffix("_total") if name.endswith("_total") else f"{name}_total"


def with_own(folder: Path | None) -> dict[str, Meaning]:
    """Read the built-in files and the user's own in `folder`.

    Raises:
        BadInputError: a file of the folder is no source file, or claims a name that another has.
    """
    if folder is None:
        return built_in()
    try:
        return load([*_FOLDER.glob("*.toml"), *folder.glob("*.toml")])
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        message = f"collector.sources: {error} (docs/gpu-sources.md shows such a file)"
        raise BadInputError(message) from None


def _file(path: Path) -> dict[str, Meaning]:
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    _check(path, "keys", table.keys() - _KEYS)
    labels = {label: tuple(key.lower() for key in keys) for label, keys in table["labels"].items()}
    _check(path, "labels", labels.keys() - _LABELS)
    found: dict[str, Meaning] = {}
    for raw, said in table["metrics"].items():
        _check(path, "metric keys", said.keys() - _METRIC_KEYS)
        _check(path, "metrics", {said["metric"]} - GPU_METRICS.keys())
        where = {key.lower(): frozenset(allowed) for key, allowed in said.get("where", {}).items()}
        meaning = Meaning(
            path.stem,
            said["metric"],
            float(said["factor"]),
            said.get("of", "card"),
            where,
            labels,
            table.get("uuid_prefix", ""),
            frozenset(map(float, table.get("absent", []))),
        )
        found |= {(prefix + raw).lower(): meaning for prefix in table.get("prefixes", [""])}
    return found


def _check(path: Path, what: str, unknown: Iterable[str]) -> None:
    names = sorted(unknown)
    if names:
        message = f"{path.name} has unknown {what}: {', '.join(names)}"
        raise ValueError(message)


def _first(held: Mapping[str, str], keys: Iterable[str]) -> str:
    return next((held[key] for key in keys if held.get(key)), "")


def _identity(told: Mapping[str, str], uuid_prefix: str) -> dict[str, str]:
    """Name the card; a slice gets a name of its own, so that it is never taken for the card."""
    identity = {label: value for label, value in told.items() if label in _IDENTITY and value}
    uuid = identity.get("gpu_uuid", "")
    if uuid_prefix and _BARE_UUID.fullmatch(uuid):
        uuid = identity["gpu_uuid"] = uuid_prefix + uuid
    if told.get("slice_id"):
        card = uuid or identity.get("bus_id") or identity.get("gpu_index", "")
        identity |= {"parent_uuid": card, "gpu_uuid": f"{card}/gi-{told['slice_id']}"}
        profile = _PROFILE.match(told.get("slice_profile", ""))
        identity |= {"slices": profile[1]} if profile else {}
    place = [told.get(part, "") for part in ("namespace", "pod", "container")]
    return identity | ({"workload": "/".join(place)} if told.get("pod") else {})
