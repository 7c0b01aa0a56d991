"""The settings' deployments as rows, so that SQL can join them."""

import pyarrow as pa
from duckdb import DuckDBPyConnection

from taximeter.clock import to_ns
from taximeter.settings import Deployment, Settings
from warehouse.queries import query

Row = dict[str, object]


def write(cursor: DuckDBPyConnection, settings: Settings) -> None:
    """Replace the deployment tables by what the settings say, in the caller's transaction."""
    rows = {
        "deployments": [_deployment(deployment) for deployment in settings.deployments],
        "deployment_names": [row for deployment in settings.deployments for row in _names(deployment)],
        "deployment_gpus": [row for deployment in settings.deployments for row in _gpus(deployment)],
        "deployment_holds": [row for deployment in settings.deployments for row in _holds(deployment)],
    }
    for table, values in rows.items():
        cursor.execute(query("refresh/empty_whole").format(table=table))
        if values:
            cursor.register("arriving", pa.Table.from_pylist(values))
            cursor.execute(query("load/insert").format(kind=table))
            cursor.unregister("arriving")


def _deployment(deployment: Deployment) -> Row:
    gpus = deployment.gpus
    return {
        "deployment": deployment.name,
        "concurrency": deployment.concurrency,
        "sku": gpus.sku if gpus else None,
        "gpus": gpus.count if gpus else None,
        "gpus_per_replica": gpus.per_replica if gpus else None,
        "usd_per_gpu_hour": gpus.usd_per_gpu_hour if gpus else None,
        "price_source": gpus.price_source if gpus else None,
    }


def _names(deployment: Deployment) -> list[Row]:
    models: list[Row] = [
        {"deployment": deployment.name, "kind": "model", "pattern": model} for model in deployment.models
    ]
    addresses: list[Row] = [
        {"deployment": deployment.name, "kind": "address", "pattern": address}
        for address in deployment.addresses
    ]
    workloads: list[Row] = [
        {"deployment": deployment.name, "kind": "workload", "pattern": workload}
        for workload in deployment.workloads
    ]
    return models + addresses + workloads


def _gpus(deployment: Deployment) -> list[Row]:
    uuids = deployment.gpus.uuids if deployment.gpus else []
    return [
        {"deployment": deployment.name, "position": position, "gpu_uuid": uuid}
        for position, uuid in enumerate(uuids)
    ]


def _holds(deployment: Deployment) -> list[Row]:
    held = deployment.gpus.held if deployment.gpus else []
    return [
        {
            "deployment": deployment.name,
            "from_ns": to_ns(hold.start),
            "to_ns": to_ns(hold.end) if hold.end else None,
        }
        for hold in held
    ]
