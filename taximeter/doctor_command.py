"""`taximeter doctor`: what is set and by whom, what runs, and what is missing."""

import ctypes
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from taximeter import house, ports, settings
from taximeter.layout import DataFolder
from taximeter.settings import Settings

_GIB = 1024**3
_LITTLE_DISK_GIB = 2


class Finding(NamedTuple):
    """One thing that was looked at: ok, note (fine, but know it) or wrong (do something)."""

    verdict: str
    what: str
    told: str


def run(config: Path | None, data: Path | None) -> int:
    """Print settings and findings; the exit status is 1 if something is wrong."""
    values = settings.load(config, data=data)
    print("Settings, and where each came from:")  # noqa: T201
    for name, value, origin in settings.origins(values, config):
        print(f"  {name} = {json.dumps(value)}  ({'--data' if data and name == 'data' else origin})")  # noqa: T201
    print("\nLooked at:")  # noqa: T201
    findings = list(_look(values))
    for finding in findings:
        print(f"  {finding.verdict:5}  {finding.what}: {finding.told}")  # noqa: T201
    return 1 if any(finding.verdict == "wrong" for finding in findings) else 0


def print_schema() -> None:
    """Print the JSON schema of the settings file."""
    print(json.dumps(settings.json_schema(), indent=2, sort_keys=True))  # noqa: T201


def _look(values: Settings) -> Iterator[Finding]:
    yield _data_folder(DataFolder(values.data))
    yield _programs_run(values)
    yield from _port_findings(values)
    yield _driver()
    yield _gpu_prices(values)


def _data_folder(folder: DataFolder) -> Finding:
    existing = next(
        path for path in (folder.root.absolute(), *folder.root.absolute().parents) if path.exists()
    )
    free_gib = shutil.disk_usage(existing).free / _GIB
    told = f"{folder.root.absolute()}, {free_gib:.0f} GiB free on its disk"
    if free_gib < _LITTLE_DISK_GIB:
        return Finding("wrong", "data folder", told + "; make room, or choose another with --data")
    if not folder.database.exists():
        return Finding("note", "data folder", told + "; nothing was loaded yet")
    return Finding("ok", "data folder", told)


def _programs_run(values: Settings) -> Finding:
    if house.is_ready(values):
        return Finding(
            "ok", "programs", f"collector, warehouse and dashboard answer; see {values.dashboard_url}"
        )
    if house.answers(f"{values.warehouse_url}/v1/health"):
        return Finding("note", "programs", "the warehouse answers, not every program does")
    return Finding("note", "programs", "none runs; start them with `taximeter up`")


def _port_findings(values: Settings) -> Iterator[Finding]:
    if house.is_ready(values):
        return
    for name, (host, port) in house.wanted_ports(values).items():
        if not ports.is_free(host, port):
            yield Finding("note", name, f"port {port} on {host} is in use by some program")


def _driver() -> Finding:
    try:
        ctypes.CDLL("libnvidia-ml.so.1")
    except OSError:
        told = "no NVIDIA driver on this machine: GPUs here are not sampled, which is fine"
        return Finding("note", "GPU driver", told)
    return Finding("ok", "GPU driver", "libnvidia-ml.so.1 is here; GPUs are sampled")


def _gpu_prices(values: Settings) -> Finding:
    unpriced = [
        deployment.name
        for deployment in values.deployments
        if deployment.gpus and deployment.gpus.usd_per_gpu_hour is None
    ]
    if not values.deployments:
        return Finding(
            "note", "deployments", "none declared: steps on own GPUs cannot be told from model APIs"
        )
    if unpriced:
        return Finding(
            "note", "deployments", f"{', '.join(unpriced)}: no price of yours, list price if there is one"
        )
    return Finding("ok", "deployments", f"{len(values.deployments)} declared, all with a price of yours")
