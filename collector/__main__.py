"""The collector as a program: both edges, the decode process, and the GPU agent."""

import argparse
import asyncio
import contextlib
import json
import logging
import os
import signal
import sys
from collections.abc import Coroutine, Iterator, Sequence
from pathlib import Path
from typing import Any

from collector.edge import children
from collector.edge.access import Grant, check_bind, read_grants
from collector.edge.intake import Intake
from collector.edge.server import Edges, Ports
from collector.journal.commit import GroupCommit
from collector.journal.writer import JournalWriter
from taximeter import settings as user_settings
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.layout import DataFolder
from taximeter.settings import Settings

_MIB = 1024 * 1024
_DRAIN_S = 3.0


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; the exit status tells a failed start."""
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="collector: %(message)s", stream=sys.stderr)
    try:
        settings = user_settings.load(options.config, data=options.data)
        given = {"host": options.host, "grpc_port": options.grpc_port, "http_port": options.http_port}
        update = {name: value for name, value in given.items() if value is not None}
        settings = settings.model_copy(update={"collector": settings.collector.model_copy(update=update)})
        grants = read_grants(settings.tokens)
        check_bind(settings.collector.host, has_tokens=bool(grants))
        asyncio.run(_run(settings, grants))
    except TaximeterError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


async def _run(settings: Settings, grants: Sequence[Grant]) -> None:
    bounds = settings.collector
    folder = DataFolder(settings.data).make()
    stop = _stop_signal()
    writer = JournalWriter(folder, segment_bytes=bounds.segment_mib * _MIB)
    journal = GroupCommit(writer, folder, max_bytes=bounds.journal_max_mib * _MIB, clock=SYSTEM_CLOCK)
    intake = Intake(journal, grants, SYSTEM_CLOCK, max_request_bytes=bounds.max_request_mib * _MIB)
    try:
        edges = await Edges.start(intake, bounds.host, bounds.grpc_port, bounds.http_port)
    except TaximeterError:
        await journal.close()
        raise
    with _announced(folder, bounds.host, edges.ports):
        async with _running(children.keep_worker(journal, _worker_arguments(settings))):
            async with _running(_agent(settings, edges.ports)), _running(_scraper(settings, edges.ports)):
                await stop.wait()
                await edges.stop()
                await journal.close()
            await _drain(journal)


def _stop_signal() -> asyncio.Event:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    return stop


@contextlib.contextmanager
def _announced(folder: DataFolder, host: str, ports: Ports) -> Iterator[None]:
    """Tell people and programs where the edges listen, as long as they do."""
    where = f"[{host}]" if ":" in host else host
    sys.stderr.write(
        f"collector ready: OTLP/gRPC {where}:{ports.grpc}, OTLP/HTTP http://{where}:{ports.http}\n"
    )
    sys.stderr.flush()
    told = {"pid": os.getpid(), "host": host, "grpc_port": ports.grpc, "http_port": ports.http}
    file = folder.root / "collector.json"
    draft = file.with_suffix(".draft")
    draft.write_text(json.dumps(told), encoding="ascii")
    draft.replace(file)
    try:
        yield
    finally:
        file.unlink(missing_ok=True)


@contextlib.asynccontextmanager
async def _running(work: Coroutine[Any, Any, None]) -> Any:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def _drain(journal: GroupCommit) -> None:
    """Give the decode process a moment to finish what is durable; the rest waits for the next start."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(journal.wait_decoded(journal.durable), _DRAIN_S)


def _worker_arguments(settings: Settings) -> list[str]:
    arguments = ["--data", str(settings.data)]
    if settings.collector.sources is not None:
        arguments += ["--sources", str(settings.collector.sources)]
    if settings.content.capture == "text":
        arguments.append("--capture-text")
    if settings.task_key is not None:
        arguments += ["--task-key", settings.task_key]
    return arguments


async def _agent(settings: Settings, ports: Ports) -> None:
    if settings.collector.nvml == "off":
        return
    bounds = settings.collector
    every = [
        "--interval",
        str(bounds.sample_interval_s),
        "--process-interval",
        str(bounds.process_interval_s),
    ]
    await children.keep_sender("collector.agent", [*_sender_arguments(settings, ports), *every])


async def _scraper(settings: Settings, ports: Ports) -> None:
    bounds = settings.collector
    if not bounds.scrape and bounds.scrape_list is None:
        return
    targets = json.dumps([target.model_dump() for target in bounds.scrape])
    listed = [] if bounds.scrape_list is None else ["--list", str(bounds.scrape_list)]
    arguments = [*_sender_arguments(settings, ports), "--targets", targets, *listed]
    await children.keep_sender("collector.scrape", arguments)


def _sender_arguments(settings: Settings, ports: Ports) -> list[str]:
    """Say where a child sends what it measured, and by which token."""
    bounds = settings.collector
    host = f"[{bounds.host}]" if ":" in bounds.host else bounds.host
    writers = [token for token in settings.tokens if {"write", "admin"} & set(token.scopes)]
    return ["--url", f"http://{host}:{ports.http}", *(["--token-env", writers[0].env] if writers else [])]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter collector",
        description="Take OTLP over gRPC and HTTP, keep it durable, and hand rows to the warehouse.",
        epilog="example: taximeter collector --data ./data --http-port 4318",
    )
    parser.add_argument("--config", type=Path, help="settings file (default: taximeter.yaml if it is there)")
    parser.add_argument("--data", type=Path, help="data folder (default: from the settings)")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--grpc-port", type=int, metavar="PORT", help="default: 4317; 0 picks a free one")
    parser.add_argument("--http-port", type=int, metavar="PORT", help="default: 4318; 0 picks a free one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
