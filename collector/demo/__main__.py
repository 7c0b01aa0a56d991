"""The simulated day as a program: `python -m collector.demo --until NS` plays it, `--live` goes on."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from collector.agent.sampler import say
from collector.demo.day import SEED, Day, write_truth
from collector.demo.live import Live
from collector.demo.story import story
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError


def main(argv: Sequence[str] | None = None) -> int:
    """Play the day that ends at --until, then, with --live, go on in real time until told to stop."""
    options = _parser().parse_args(argv)
    try:
        if options.until is not None:
            told = Day(story(), options.seed).play(options.collector, options.grpc, options.until)
            write_truth(options.data, told)
        if options.live:
            Live(story(), options.collector, options.grpc, SYSTEM_CLOCK).run()
    except TaximeterError as error:
        say(str(error))
        return error.exit_status
    return 0


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
