"""All programs on one machine: which are started, with which settings, and when the house is ready."""

import contextlib
import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from taximeter import ports, programs, supervisor
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder
from taximeter.settings import Settings

READY_S = 60.0
_LOOK_EVERY_S = 0.1
_GIVE_UP_AFTER_DEATHS = 3


class House(NamedTuple):
    """A running house: what its programs are told, and the supervisor that keeps them."""

    arguments: list[str]
    keeper: supervisor.Supervisor
    clock: Clock

    def start(self, name: str) -> None:
        """Start a program of the house; it is kept running from now on."""
        self.keeper.start(supervisor.Job(name, programs.command(programs.find(name).module, self.arguments)))

    def wait_for(self, what: str, is_there: Callable[[], bool], limit_s: float = READY_S) -> None:
        """Wait until `is_there`, tending the programs meanwhile.

        Raises:
            TaximeterError: it took longer than `limit_s`, or a program keeps dying; the message says which
                log to read.
        """
        end_s = self.clock.monotonic_s() + limit_s
        while not is_there():
            for name in self.keeper.tend():
                if self.keeper.deaths(name) >= _GIVE_UP_AFTER_DEATHS:
                    log = self.keeper.log_of(name)
                    message = f"{name} keeps ending; its last words ({log}):\n{supervisor.tail(log)}"
                    raise TaximeterError(message)
            if self.clock.monotonic_s() > end_s:
                logs = self.keeper.log_of("warehouse").parent
                message = f"{what} was not ready within {limit_s:.0f} s; see {logs}"
                raise TaximeterError(message)
            self.clock.sleep(_LOOK_EVERY_S)

    def tend_forever(self) -> None:
        """Keep the programs running until somebody interrupts."""
        with contextlib.suppress(KeyboardInterrupt):
            while True:
                self.keeper.tend()
                self.clock.sleep(1.0)


@contextlib.contextmanager
def running(settings: Settings, config: Path | None, names: tuple[str, ...]) -> Iterator[House]:
    """Run these programs until the block ends; each is asked to stop then.

    Raises:
        BusyError: a port that the settings name is taken.
    """
    ports.require_free(wanted_ports(settings))
    folder = DataFolder(settings.data).make()
    arguments = ["--data", str(settings.data)]
    if config is not None:
        arguments += ["--config", str(config)]
    with supervisor.supervising(folder.logs, SYSTEM_CLOCK, environment(settings)) as keeper:
        home = House(arguments, keeper, SYSTEM_CLOCK)
        for name in names:
            home.start(name)
        yield home


def environment(settings: Settings) -> dict[str, str]:
    """Write the ports as environment overrides, so that every program agrees on them."""
    return {
        "TAXIMETER_COLLECTOR__GRPC_PORT": str(settings.collector.grpc_port),
        "TAXIMETER_COLLECTOR__HTTP_PORT": str(settings.collector.http_port),
        "TAXIMETER_WAREHOUSE__PORT": str(settings.warehouse.port),
        "TAXIMETER_DASHBOARD__PORT": str(settings.dashboard.port),
    }


def wanted_ports(settings: Settings) -> dict[str, tuple[str, int]]:
    """Map each port setting to where it should be listened on."""
    return {
        "collector.grpc_port": (settings.collector.host, settings.collector.grpc_port),
        "collector.http_port": (settings.collector.host, settings.collector.http_port),
        "warehouse.port": (settings.warehouse.host, settings.warehouse.port),
        "dashboard.port": (settings.dashboard.host, settings.dashboard.port),
    }


def edge_url(settings: Settings) -> str:
    """Where OTLP over HTTP goes."""
    return f"http://{settings.collector.host}:{settings.collector.http_port}"


def answers(url: str) -> bool:
    """Tell whether an HTTP GET of `url` succeeds."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - http addresses of the settings
            return bool(answer.status == 200)  # noqa: PLR2004
    except OSError:
        return False


def ask(url: str) -> dict[str, Any] | None:
    """Read the JSON object that `url` answers with; None where nobody answers."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310 - http addresses of the settings
            found: dict[str, Any] = json.loads(answer.read())
    except (OSError, ValueError):
        return None
    return found


def is_ready(settings: Settings) -> bool:
    """Tell whether collector, warehouse and dashboard all answer."""
    return all(
        answers(url)
        for url in (
            f"{edge_url(settings)}/healthz",
            f"{settings.warehouse_url}/v1/health",
            f"http://{settings.dashboard.host}:{settings.dashboard.port}/_stcore/health",
        )
    )
