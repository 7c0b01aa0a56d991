"""For tests: real programs on free ports over a folder of their own, to be asked, killed, started again."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from taximeter import house, ports, settings
from taximeter.settings import Settings

READY_S = 120.0


class Programs:
    """Programs of one data folder; whatever is still running is ended with the block that made this."""

    def __init__(self, data: Path, config: Path | None = None) -> None:
        """Choose free ports for all programs; nothing is started yet."""
        self.data = data
        self._config = config
        chosen = {name: ports.any_free("127.0.0.1") for name in ("grpc", "http", "warehouse", "dashboard")}
        self._environment = {
            **os.environ,
            "TAXIMETER_DATA": str(data),
            "TAXIMETER_COLLECTOR__GRPC_PORT": str(chosen["grpc"]),
            "TAXIMETER_COLLECTOR__HTTP_PORT": str(chosen["http"]),
            "TAXIMETER_COLLECTOR__NVML": "off",
            "TAXIMETER_WAREHOUSE__PORT": str(chosen["warehouse"]),
            "TAXIMETER_DASHBOARD__PORT": str(chosen["dashboard"]),
        }
        self.http_port = chosen["http"]
        self.grpc_port = chosen["grpc"]
        self.warehouse_url = f"http://127.0.0.1:{chosen['warehouse']}"
        self._running: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def otlp_url(self) -> str:
        """Where OTLP/HTTP goes."""
        return f"http://127.0.0.1:{self.http_port}"

    def pid(self, name: str) -> int:
        """The process of a running program."""
        return self._running[name].pid

    def settings(self) -> Settings:
        """The settings that the programs have."""
        return settings.load(self._config, data=self.data)

    def start(self, name: str) -> None:
        """Start a program and wait until it answers (collector, warehouse) or runs."""
        log = (self.data.parent / f"{name}.log").open("ab")
        arguments = ["--config", str(self._config)] if self._config else []
        self._running[name] = subprocess.Popen(
            [sys.executable, "-m", "taximeter", name, *arguments],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
        )
        log.close()
        probes = {"collector": f"{self.otlp_url}/healthz", "warehouse": f"{self.warehouse_url}/v1/health"}
        if name in probes:
            self.wait_until(lambda: house.answers(probes[name]), READY_S)

    def kill(self, name: str) -> None:
        """End a program as a crash would: SIGKILL, no farewell."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGKILL)
        process.wait()

    def stop(self, name: str) -> int:
        """Ask a program to end, and return its exit status."""
        process = self._running.pop(name)
        process.send_signal(signal.SIGTERM)
        return process.wait(timeout=READY_S)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run `taximeter ...` to its end, with the same settings."""
        return subprocess.run(
            [sys.executable, "-m", "taximeter", *arguments],
            env=self._environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def report(self, name: str, query: str = "") -> list[dict[str, Any]]:
        """Ask the warehouse for a report."""
        url = f"{self.warehouse_url}/v1/reports/{name}?format=json&{query}"
        with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310 - our own loopback server
            rows: list[dict[str, Any]] = json.loads(answer.read())
        return rows

    @staticmethod
    def wait_until(condition: Callable[[], bool], limit_s: float) -> float:
        """Wait for the condition and return how many seconds that took.

        Raises:
            TimeoutError: it did not hold in time.
        """
        start = time.monotonic()
        while not condition():
            if time.monotonic() - start > limit_s:
                message = f"not within {limit_s} s"
                raise TimeoutError(message)
            time.sleep(0.02)
        return time.monotonic() - start

    def end(self) -> None:
        """End whatever still runs."""
        for name in list(self._running):
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.stop(name)
        for process in self._running.values():
            process.kill()


@contextlib.contextmanager
def programs(data: Path, config: Path | None = None) -> Iterator[Programs]:
    """Hand out programs over `data`, and end them afterwards."""
    running = Programs(data, config)
    try:
        yield running
    finally:
        running.end()
