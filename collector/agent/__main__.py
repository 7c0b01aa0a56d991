"""The agent as a program: samples the GPUs of this machine until it is told to stop."""

import argparse
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from collector.agent.nvml_deep import DeepNvml
from collector.agent.offset import ClockOffset
from collector.agent.outbox import Outbox
from collector.agent.owner import OwnerThread
from collector.agent.processes import Processes
from collector.agent.rounds import Rounds
from collector.agent.sampler import NoDriverError, Sampler
from collector.agent.spool import FolderSpool, MemorySpool, Spool
from collector.agent.stop import Stop
from collector.scrape.scraper import scraping
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.say import say
from taximeter.secret import read_secret

_LOOK_S = 0.25  # how soon a request to stop is seen
_WAIT_S = 30.0  # how often a driver that is not there yet is looked for
_MIB = 1 << 20


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 0 where there is nothing to sample, which is not an error."""
    options = _parser().parse_args(argv)
    stop = Stop().listen()
    try:
        headers = {"authorization": f"Bearer {read_secret(options.token_env)}"} if options.token_env else {}
        sampler = _started(options, stop)
        if sampler is None and options.scrape_list is None:
            return 0
        try:
            outbox = Outbox(options.url, SYSTEM_CLOCK, _tell, headers=headers, spool=_spool(options))
            offset = ClockOffset(options.url, SYSTEM_CLOCK)
            processes = Processes(options.root)
            rounds = Rounds(
                sampler, outbox, offset, processes, clock=SYSTEM_CLOCK, interval_s=options.interval
            )
            with scraping(options.scrape_list, outbox.put, SYSTEM_CLOCK, options.host):
                unsent = rounds.run(options.host, stop, _LOOK_S)
        finally:
            if sampler is not None:
                sampler.stop()
    except TaximeterError as error:
        _tell(str(error))
        return error.exit_status
    _tell_unsent(unsent, outbox.dropped, options.buffer)
    return 0


def _started(options: argparse.Namespace, stop: Stop) -> Sampler | None:
    """Give a sampler whose driver answers; with --wait once it does, else None where there is none."""
    told = ""
    while not stop.asked:
        sampler = Sampler(
            DeepNvml(),
            SYSTEM_CLOCK,
            interval_s=options.interval,
            process_interval_s=options.process_interval,
            links=options.links,
            owner=OwnerThread(),
            tell=_tell,
        )
        try:
            cards = sampler.start()
        except NoDriverError as error:
            why = str(error)
        else:
            if cards:
                _tell(f"sampling {cards} GPUs every {options.interval:g} s, to {options.url}")
                return sampler
            why = "the NVIDIA driver lists no card: nothing to sample"
        sampler.stop()
        if why != told:
            _tell(why)
        if not options.wait:
            return None
        told = why
        stop.sleep(SYSTEM_CLOCK, _WAIT_S, _LOOK_S)
    return None


def _spool(options: argparse.Namespace) -> Spool:
    if options.buffer is None:
        return MemorySpool()
    spool = FolderSpool(options.buffer, options.buffer_mib * _MIB)
    if len(spool):
        _tell(f"{len(spool)} requests of an earlier run wait in {options.buffer}; they go first")
    return spool


def _tell_unsent(unsent: int, dropped: int, folder: Path | None) -> None:
    if dropped:
        _tell(f"{dropped} requests with samples were dropped")
    if unsent:
        where = f"wait in {folder} for the next start" if folder else "were not delivered"
        _tell(f"{unsent} requests with samples {where}")


def _tell(line: str) -> None:
    say(f"taximeter agent: {line}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter agent",
        description="Sample the NVIDIA GPUs of this machine and send the figures to a collector (OTLP/HTTP).",
        epilog="example: taximeter agent --url http://10.0.0.5:4318 --token-env TAXIMETER_TOKEN "
        "--buffer /var/lib/taximeter-agent",
    )
    parser.add_argument("--url", default="http://127.0.0.1:4318", help="the collector (default: %(default)s)")
    parser.add_argument(
        "--interval", type=_seconds, default=1.0, metavar="S", help="seconds between looks (default: 1)"
    )
    parser.add_argument(
        "--process-interval",
        type=_seconds,
        default=5.0,
        metavar="S",
        help="the same for process lists (default: 5)",
    )
    parser.add_argument(
        "--host", default=socket.gethostname(), help="name of this machine (default: its own)"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="environment variable that holds the access token"
    )
    parser.add_argument(
        "--buffer",
        type=Path,
        metavar="FOLDER",
        help="keep what is not delivered in this folder, across restarts (default: in memory)",
    )
    parser.add_argument(
        "--buffer-mib", type=_mib, default=256, metavar="MIB", help="the most it may hold (default: 256)"
    )
    parser.add_argument(
        "--scrape-list",
        type=Path,
        metavar="FILE",
        help="ask these exporters and engines too: {url, every_s, deployment}, or Prometheus file discovery",
    )
    parser.add_argument("--links", action="store_true", help="measure NVLink and PCIe traffic too")
    parser.add_argument("--wait", action="store_true", help="wait for a driver that is not there yet")
    parser.add_argument(
        "--root",
        type=Path,
        default=Path("/"),
        metavar="FOLDER",
        help="where the machine's own / is seen, such as /host in a container (default: /)",
    )
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        message = f"{text} is no length of time"
        raise argparse.ArgumentTypeError(message)
    return seconds


def _mib(text: str) -> int:
    mib = int(text)
    if mib < 1:
        message = f"{text} MiB hold no sample"
        raise argparse.ArgumentTypeError(message)
    return mib


if __name__ == "__main__":
    sys.exit(main())
