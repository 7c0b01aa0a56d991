"""`taximeter alerts`: watch the rules; `taximeter alerts test`: send one message to every channel."""

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from alerts.channels.build import Sender, build_channels
from alerts.channels.target import UndeliverableError
from alerts.notification import Notification
from alerts.program import opened, run
from taximeter import settings as user_settings
from taximeter.clock import SYSTEM_CLOCK, to_datetime
from taximeter.errors import SettingsError, TaximeterError
from taximeter.settings import Settings


def main(argv: Sequence[str] | None = None) -> int:
    """Run until asked to stop, look once, or test the channels; returns the exit status."""
    arguments = _parser().parse_args(argv)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(name)s: %(message)s")
    logging.getLogger("apscheduler").setLevel(logging.WARNING)
    logging.getLogger("httpx").setLevel(logging.WARNING)  # it logs addresses, and an address may be a secret
    try:
        settings = user_settings.load(arguments.config, data=arguments.data)
        if arguments.action == "test":
            return _test(settings)
        if arguments.once:
            return _once(settings)
        run(settings, SYSTEM_CLOCK)
    except TaximeterError as error:
        sys.stderr.write(f"{error}\n")
        return error.exit_status
    return 0


def _once(settings: Settings) -> int:
    with opened(settings, SYSTEM_CLOCK) as program:
        return 1 if program.tick() else 0


def _test(settings: Settings) -> int:
    """Send a test message to each channel and say what happened; 0 only if all of them took it."""
    channels = build_channels(settings.alerts.channels, SYSTEM_CLOCK)
    if not channels:
        message = "no channel is named; add one under alerts.channels in the settings"
        raise SettingsError(message)
    failed = sum(not _try(name, channels, settings.dashboard_url) for name in channels)
    return 1 if failed else 0


def _try(name: str, channels: Mapping[str, Sender], dashboard_url: str) -> bool:
    now_ns = SYSTEM_CLOCK.now_ns()
    at = to_datetime(now_ns).isoformat()
    notification = Notification(
        idempotency_key=f"test-{name}-{now_ns}",
        alert_key=f"test-{name}",
        rule="test",
        status="test",
        kind="test",
        severity="info",
        labels={"channel": name},
        title="Taximeter test message",
        text=f"If you read this, the channel {name} works.",
        link=dashboard_url,
        started_at=at,
        at=at,
    )
    try:
        channels[name].send(notification)
    except (UndeliverableError, SettingsError) as error:
        sys.stdout.write(f"{name}: failed: {error}\n")
        return False
    sys.stdout.write(f"{name}: delivered\n")
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="taximeter alerts",
        description="Watch the rules and tell Slack, webhooks and whatever Apprise reaches.",
    )
    parser.add_argument("action", nargs="?", choices=["run", "test"], default="run")
    parser.add_argument("--once", action="store_true", help="look once, deliver what is due, and end")
    parser.add_argument("--config", type=Path, help="the settings file (default: taximeter.yaml)")
    parser.add_argument("--data", type=Path, help="the data folder (default: that of the settings)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
