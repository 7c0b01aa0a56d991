"""The program that serves the pages: `taximeter dashboard`."""

import argparse
import ipaddress
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import streamlit as st

from dashboard.source import Source, from_settings
from taximeter import settings as settings_module
from taximeter.errors import TaximeterError, UnsafeBindError
from taximeter.secret import read_secret
from taximeter.settings import Settings

APP = Path(__file__).with_name("app.py")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the pages until a signal comes; gives the exit status."""
    options = _parser().parse_args(argv)
    try:
        settings = settings_module.load(options.config)
        host = settings.dashboard.host
        _refuse_public(host)
        port = settings.dashboard.port if options.port is None else options.port
        serve(from_settings(settings, _read_token(settings)), host, port)
    except TaximeterError as error:
        print(f"taximeter dashboard: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_status
    return 0


def serve(source: Source, host: str, port: int) -> None:
    """Run Streamlit in this process and block; port 0 takes a free one, the ready line tells which."""

    @asynccontextmanager
    async def ready(_: st.App) -> AsyncIterator[None]:
        where = f"http://{host}:{st.get_option('server.port')}"
        print(f"taximeter dashboard: ready on {where}", file=sys.stderr, flush=True)  # noqa: T201
        yield

    _warm()
    app = st.App(APP, secrets=source.as_secrets(), lifespan=ready)
    app.run(config=_streamlit_options(host, port))


def _warm() -> None:
    """Load what the first page needs before the ready line: the first visitor must not wait for it."""
    import dashboard.charts.trajectory
    import dashboard.views.overview  # noqa: F401


def _streamlit_options(host: str, port: int) -> dict[str, object]:
    return {
        "server.address": host,
        "server.port": port,
        "server.headless": True,
        "server.showEmailPrompt": False,
        "server.fileWatcherType": "none",
        "server.runOnSave": False,
        "browser.gatherUsageStats": False,
        "client.toolbarMode": "minimal",
        "client.showErrorDetails": "none",
        "client.showErrorLinks": False,
        "logger.hideWelcomeMessage": True,
        "runner.magicEnabled": False,
        "theme.light.primaryColor": "#1f7a8c",
        "theme.dark.primaryColor": "#4fb3c4",
    }


def _read_token(settings: Settings) -> str | None:
    for token in settings.tokens:
        if "read" in token.scopes:
            return read_secret(token.env)
    return None


def _refuse_public(host: str) -> None:
    """Let the pages be reached from this machine only: they have no sign-in of their own.

    Raises:
        UnsafeBindError: the host is not a loopback address.
    """
    try:
        safe = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        safe = False
    if not safe:
        message = (
            f"dashboard.host is {host}, which others can reach, and the pages have no sign-in; keep "
            "127.0.0.1 and put a proxy that asks for a sign-in in front; its address is dashboard.public_url"
        )
        raise UnsafeBindError(message)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="taximeter dashboard", description="Serve the pages.")
    parser.add_argument("--config", type=Path, default=None, help="settings file (default: taximeter.yaml)")
    parser.add_argument("--port", type=int, default=None, help="port to serve on; 0 takes a free one")
    return parser


if __name__ == "__main__":
    sys.exit(main())
