"""The scraper as a program: asks its targets and sends what they tell to a collector."""

import argparse
import asyncio
import contextlib
import json
import logging
import signal
import socket
import sys
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import Any

from collector.agent.outbox import Outbox
from collector.scrape.scraper import Scraper
from collector.scrape.targets import of_settings
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import TaximeterError
from taximeter.say import say
from taximeter.secret import read_secret

_PATIENCE_S = 3.0  # how long the last pages are tried for


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    options = _parser().parse_args(argv)
    logging.basicConfig(level=logging.WARNING, format="taximeter scrape: %(message)s", stream=sys.stderr)
    try:
        targets = of_settings(json.loads(options.targets))
        headers = {"authorization": f"Bearer {read_secret(options.token_env)}"} if options.token_env else {}
    except TaximeterError as error:
        say(f"taximeter scrape: {error}")
        return error.exit_status
    outbox = Outbox(options.url, SYSTEM_CLOCK, lambda line: say(f"taximeter scrape: {line}"), headers=headers)
    outbox.open()
    scraper = Scraper(outbox.put, SYSTEM_CLOCK, options.host)
    try:
        asyncio.run(_until_told(scraper.run(targets, options.list)))
    finally:
        outbox.close(_PATIENCE_S)
    return 0


async def _until_told(work: Coroutine[Any, Any, None]) -> None:
    task = asyncio.ensure_future(work)
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, task.cancel)
    with contextlib.suppress(asyncio.CancelledError):
        await task


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter scrape",
        description="Ask exporters and serving engines for their metrics and send them to a collector.",
        epilog='example: --targets \'[{"url": "http://10.0.3.7:8000/metrics", "deployment": "qwen-coder"}]\'',
    )
    parser.add_argument("--url", default="http://127.0.0.1:4318", help="the collector (default: %(default)s)")
    parser.add_argument(
        "--targets", default="[]", metavar="JSON", help="whom to ask: [{url, every_s, labels, deployment}]"
    )
    parser.add_argument(
        "--list", type=Path, metavar="FILE", help="a list of targets, read again when it changes"
    )
    parser.add_argument(
        "--host", default=socket.gethostname(), help="name of this machine (default: its own)"
    )
    parser.add_argument(
        "--token-env", metavar="NAME", help="environment variable that holds the access token"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
