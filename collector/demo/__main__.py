"""The simulated day as a program: `python -m collector.demo --until NS` plays it, `--live` goes on."""

import argparse
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

from collector.agent.stop import Stop
from collector.demo.day import SEED, Day, write_truth
from collector.demo.live import Live
from collector.demo.story import story
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.say import say

_CONNECT_S = 5.0


def main(argv: Sequence[str] | None = None) -> int:
    """Play the day that ends at --until, then, with --live, go on in real time until told to stop."""
    options = _parser().parse_args(argv)
    try:
        for where in (options.collector.partition("://")[2], options.grpc):
            _expect_listener(where.rstrip("/"))
        if options.until is not None:
            told = Day(story(), options.seed).play(options.collector, options.grpc, options.until)
            write_truth(options.data, told)
        if options.live:
            Live(story(), options.collector, options.grpc, SYSTEM_CLOCK).run(Stop().listen())
    except TaximeterError as error:
        say(f"demo: {error}")
        return error.exit_status
    return 0


def _expect_listener(where: str) -> None:
    """Fail at once where nobody listens, instead of after the patience of every exporter."""
    host, _, port = where.rpartition(":")
    try:
        socket.create_connection((host, int(port)), timeout=_CONNECT_S).close()
    except (OSError, ValueError) as error:
        message = f"no collector listens at {where} ({error})"
        raise TaximeterError(message) from None


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="collector.demo", description="Play a simulated day through a collector's ports."
    )
    parser.add_argument(
        "--collector", default="http://127.0.0.1:4318", help="OTLP/HTTP (default: %(default)s)"
    )
    parser.add_argument("--grpc", default="127.0.0.1:4317", help="OTLP/gRPC (default: %(default)s)")
    parser.add_argument("--data", type=Path, default=Path("demo-data"), help="folder for the day's truth")
    parser.add_argument("--until", type=int, metavar="NS", help="end of the day, nanoseconds UTC")
    parser.add_argument("--seed", type=int, default=SEED, help="another seed makes another day")
    parser.add_argument("--live", action="store_true", help="go on in real time until stopped")
    return parser


if __name__ == "__main__":
    sys.exit(main())
