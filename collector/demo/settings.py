"""The settings of the simulated house: its deployments, and prices that say that they are simulated."""

from decimal import Decimal
from typing import Any

import yaml

from collector.demo.story import Fleet, story

_HEAD = "# Settings of the simulated day. Everything that is measured under them is simulated.\n"


def settings_text() -> str:
    """Write taximeter.yaml for the simulated day, the same every time."""
    told = story()
    values = {
        "deployments": [_deployment(fleet, told.price_source) for fleet in told.fleet],
        # Real cards of this machine have no place in a simulated house.
        "collector": {"nvml": "off"},
        "warehouse": {"sample_interval_s": told.sample_interval_s},
    }
    return _HEAD + yaml.safe_dump(values, sort_keys=False, width=110)


def _deployment(fleet: Fleet, price_source: str) -> dict[str, Any]:
    names = {
        "name": fleet.deployment,
        "models": fleet.models,
        "addresses": [fleet.address] if fleet.address else [],
        "concurrency": fleet.concurrency,
    }
    gpus = {
        "sku": fleet.sku,
        "count": fleet.cards,
        "per_replica": fleet.per_replica,
        "usd_per_gpu_hour": float(Decimal(fleet.usd_per_gpu_hour)),
        "price_source": price_source,
        "uuids": fleet.uuids,
    }
    return {**{key: value for key, value in names.items() if value}, "gpus": gpus}
