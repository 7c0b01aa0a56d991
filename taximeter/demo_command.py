"""`taximeter demo`: a simulated day through the real ports, then the pages on it."""

import importlib
import shutil
from pathlib import Path

from taximeter import house, ports, programs, settings, supervisor
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder
from taximeter.say import say
from taximeter.settings import Settings

# The pages start while the day is on its way: nobody looks at them before it is in.
FIRST = ("collector", "warehouse")
LATER = ("dashboard", "alerts")
_DAY_MODULE = "collector.demo"
_MARK = "demo.yaml"


def run(data: Path, *, live: bool) -> None:
    """Empty the demo folder, start all programs, play the day, print one URL, go on until interrupted."""
    _empty(data)
    config = data / _MARK
    config.write_text(importlib.import_module(_DAY_MODULE).settings_text(), encoding="utf-8")
    values = _with_free_ports(settings.load(config, data=data))
    with house.running(values, config, FIRST) as home:
        say("Starting the programs of a simulated day ...")
        home.wait_for("the collector", lambda: house.answers(f"{house.edge_url(values)}/healthz"))
        say("Playing 24 simulated hours through the real ports ...")
        _play(values, data)
        say("Working out what each task cost and who used the GPUs ...")
        for name in LATER:
            home.start(name)
        home.wait_for("the simulated day", lambda: house.is_ready(values) and _is_in(values))
        if live:
            home.keeper.start(
                supervisor.Job("demo", programs.command(_DAY_MODULE, [*_ports(values), "--live"]))
            )
        say("All figures are simulated. Stop with Ctrl-C.")
        print(values.dashboard_url, flush=True)  # noqa: T201 - the result of this command
        home.tend_forever()


def _empty(data: Path) -> None:
    """Remove an earlier demo; a folder that is not one is left alone.

    Raises:
        TaximeterError: the folder holds something else.
    """
    if data.exists() and any(data.iterdir()):
        if not (data / _MARK).exists():
            message = (
                f"{data} is not a demo folder; name another with --data, so that nothing of yours is removed"
            )
            raise TaximeterError(message)
        shutil.rmtree(data)
    data.mkdir(parents=True, exist_ok=True)


def _with_free_ports(values: Settings) -> Settings:
    """Move to free ports where the usual ones are taken: a demo must never stand in the way."""

    def free(host: str, port: int) -> int:
        return port if ports.is_free(host, port) else ports.any_free(host)

    collector = values.collector.model_copy(
        update={
            "grpc_port": free(values.collector.host, values.collector.grpc_port),
            "http_port": free(values.collector.host, values.collector.http_port),
        }
    )
    warehouse = values.warehouse.model_copy(
        update={"port": free(values.warehouse.host, values.warehouse.port)}
    )
    dashboard = values.dashboard.model_copy(
        update={"port": free(values.dashboard.host, values.dashboard.port)}
    )
    return values.model_copy(update={"collector": collector, "warehouse": warehouse, "dashboard": dashboard})


def _ports(values: Settings) -> list[str]:
    return [
        "--collector",
        house.edge_url(values),
        "--grpc",
        f"{values.collector.host}:{values.collector.grpc_port}",
        "--data",
        str(values.data),
    ]


def _play(values: Settings, data: Path) -> None:
    until_ns = SYSTEM_CLOCK.now_ns()
    status = programs.run(f"{_DAY_MODULE}.__main__", [*_ports(values), "--until", str(until_ns)])
    if status:
        message = f"the simulated day could not be sent; see {DataFolder(data).logs}"
        raise TaximeterError(message)


def _is_in(values: Settings) -> bool:
    """Tell whether everything that was sent is in the figures: decoded, loaded and refreshed."""
    edge = house.ask(f"{house.edge_url(values)}/healthz")
    if edge is None or edge["decoded_block"] < edge["durable_block"]:
        return False
    store = house.ask(f"{values.warehouse_url}/v1/health")
    return bool(store and store["is_current"])
