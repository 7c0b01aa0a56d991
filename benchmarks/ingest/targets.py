"""What is measured: our collector and warehouse, and peers that PyPI has, each on free loopback ports."""

import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
import venv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import httpx

from taximeter import ports
from taximeter.testing import programs

READY_S = 180.0


@dataclass(frozen=True)
class Target:
    """A running receiver: its ports, its processes, where it keeps what it took."""

    name: str
    http_port: int
    grpc_port: int
    pids: list[int]
    folder: Path
    stored: str | None = None  # how to count the rows it stored: duckdb report's URL, or an SQLite file

    def stored_spans(self) -> int:
        """Count the spans that a query finds."""
        if self.stored is None:
            return 0
        if self.stored.startswith("http"):
            rows = httpx.get(self.stored, timeout=60).json()
            return int(sum(row["value"] for row in rows if row["check"].startswith("spans:")))
        try:
            with contextlib.closing(sqlite3.connect(f"file:{self.stored}?mode=ro", uri=True)) as file:
                return int(file.execute("select count(*) from spans").fetchone()[0])
        except sqlite3.OperationalError:  # not made yet, or being written
            return 0


@contextlib.contextmanager
def ours(folder: Path, memory_limit: str = "400MB") -> Iterator[Target]:
    """Run our collector and warehouse over an empty folder."""
    os.environ["TAXIMETER_WAREHOUSE__MEMORY_LIMIT"] = memory_limit
    with programs(folder / "data") as running:
        running.start("warehouse")
        running.start("collector")
        yield Target(
            name="taximeter",
            http_port=running.http_port,
            grpc_port=running.grpc_port,
            pids=[running.pid("collector"), running.pid("warehouse")],
            folder=folder / "data",
            stored=f"{running.warehouse_url}/v1/reports/health?format=json",
        )


@contextlib.contextmanager
def rotel(folder: Path) -> Iterator[Target]:
    """Run rotel with its blackhole: it decodes and throws away, so it is the speed that is possible."""
    site = _environment("rotel", "rotel", "--pre")
    chosen = _Ports()
    where = {
        "ROTEL_OTLP_HTTP_ENDPOINT": f"127.0.0.1:{chosen.http}",
        "ROTEL_OTLP_GRPC_ENDPOINT": f"127.0.0.1:{chosen.grpc}",
        "ROTEL_OTLP_GRPC_MAX_RECV_MSG_SIZE_MIB": "64",
        "ROTEL_PID_FILE": str(folder / "pid"),
        "ROTEL_LOG_FILE": str(folder / "log"),
    }
    binary = next(site.glob("lib/python*/site-packages/rotel/rotel-agent"))
    with _running([str(binary), "start", "--exporter", "blackhole"], where, folder, chosen.http) as pid:
        yield Target("rotel", chosen.http, chosen.grpc, [pid], folder)


@contextlib.contextmanager
def phoenix(folder: Path) -> Iterator[Target]:
    """Run Arize Phoenix on SQLite, as it is when somebody installs it."""
    site = _environment("phoenix", "arize-phoenix")
    chosen = _Ports()
    where = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(chosen.http),
        "PHOENIX_GRPC_PORT": str(chosen.grpc),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with _running([str(site / "bin" / "phoenix"), "serve"], where, folder, chosen.http) as pid:
        yield Target("phoenix", chosen.http, chosen.grpc, [pid], folder, str(folder / "phoenix.db"))


class _Ports:
    def __init__(self) -> None:
        self.http = ports.any_free("127.0.0.1")
        self.grpc = ports.any_free("127.0.0.1")


def _environment(name: str, package: str, *options: str) -> Path:
    """Make a throw-away environment with a package, once a machine."""
    site = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "taximeter-peers" / name
    if not (site / "done").exists():
        print(f"bringing {package} from PyPI ...", file=sys.stderr, flush=True)
        venv.create(site, with_pip=True, clear=True)
        python = str(site / "bin" / "python")
        subprocess.run(
            [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *options, package],
            check=True,
        )
        (site / "done").touch()
    return site


@contextlib.contextmanager
def _running(
    command: Sequence[str], environment: dict[str, str], folder: Path, http_port: int
) -> Iterator[int]:
    """Run a peer until the block ends; it is ready when its port answers."""
    with (folder / "output").open("wb") as output:
        process = subprocess.Popen(
            command, env={**os.environ, **environment}, stdout=output, stderr=subprocess.STDOUT
        )
    try:
        start = time.monotonic()
        while not _answers(http_port):
            if process.poll() is not None or time.monotonic() - start > READY_S:
                message = f"{command[0]} did not start: {(folder / 'output').read_text()[-500:]}"
                raise RuntimeError(message)
            time.sleep(0.2)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _answers(port: int) -> bool:
    try:
        httpx.get(f"http://127.0.0.1:{port}/", timeout=2)
    except httpx.TransportError:
        return False
    return True
