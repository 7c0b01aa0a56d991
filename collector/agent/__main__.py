"""The agent as a program: samples the GPUs of this machine until it is told to stop."""

import argparse
import socket
import sys
from collections.abc import Sequence

from collector.agent.nvml import NvmlBinding
from collector.agent.otlp import SERVICE, encode
from collector.agent.outbox import Outbox
from collector.agent.sampler import NoDriverError, Sample, Sampler
from collector.agent.stop import Stop
from taximeter.clock import SYSTEM_CLOCK, Clock
from taximeter.errors import TaximeterError
from taximeter.say import say
from taximeter.secret import read_secret

_SEND_S = 3.0  # samples are sent together: one request every few seconds
_LOOK_S = 0.25  # how soon a request to stop is seen
_PATIENCE_S = 5.0  # how long the last samples are tried for


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT; 0 where there is nothing to sample, which is not an error."""
    options = _parser().parse_args(argv)
    sampler = Sampler(NvmlBinding(), SYSTEM_CLOCK, process_interval_s=options.process_interval, tell=_tell)
    try:
        headers = {"authorization": f"Bearer {read_secret(options.token_env)}"} if options.token_env else {}
        cards = sampler.start()
        if not cards:
            _tell("the NVIDIA driver lists no card: nothing to sample")
            return 0
        _tell(f"sampling {cards} GPUs every {options.interval:g} s, to {options.url}")
        outbox = Outbox(options.url, SYSTEM_CLOCK, _tell, headers=headers)
        return _run(sampler, outbox, SYSTEM_CLOCK, options)
    except NoDriverError as error:
        _tell(str(error))
        return 0
    except TaximeterError as error:
        _tell(str(error))
        return error.exit_status
    finally:
        sampler.stop()


def _run(sampler: Sampler, outbox: Outbox, clock: Clock, options: argparse.Namespace) -> int:
    stop = Stop().listen()
    resource = {"host.name": options.host, "service.name": SERVICE}
    pending: list[Sample] = []
    outbox.open()
    next_s = next_send_s = clock.monotonic_s()
    try:
        while not stop.asked:
            pending += sampler.sample()
            if pending and clock.monotonic_s() >= next_send_s:
                outbox.put(encode(pending, resource))
                pending, next_send_s = [], clock.monotonic_s() + _SEND_S
            # A tick that came late is left out, never made up for.
            next_s = max(next_s + options.interval, clock.monotonic_s())
            while not stop.asked and (left_s := next_s - clock.monotonic_s()) > 0:
                clock.sleep(min(left_s, _LOOK_S))
    finally:
        if pending:
            outbox.put(encode(pending, resource))
        unsent = outbox.close(_PATIENCE_S)
        if unsent or outbox.dropped:
            _tell(f"{unsent + outbox.dropped} requests with samples were not delivered")
    return 0


def _tell(line: str) -> None:
    say(f"taximeter agent: {line}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter agent",
        description="Sample the NVIDIA GPUs of this machine and send the figures to a collector (OTLP/HTTP).",
        epilog="example: taximeter agent --url http://10.0.0.5:4318 --token-env TAXIMETER_TOKEN",
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
    return parser


def _seconds(text: str) -> float:
    seconds = float(text)
    if not 0 < seconds < float("inf"):
        message = f"{text} is no length of time"
        raise argparse.ArgumentTypeError(message)
    return seconds


if __name__ == "__main__":
    sys.exit(main())
