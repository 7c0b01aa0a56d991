"""The program that serves the pages: `taximeter dashboard`."""

import argparse
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import streamlit as st
from starlette.middleware import Middleware

from dashboard.gate import Gate
from dashboard.source import Source, from_settings
from taximeter import ports
from taximeter import settings as settings_file
from taximeter.errors import TaximeterError, UnsafeBindError
from taximeter.say import say
from taximeter.settings import Settings
from warehouse.access import is_loopback, read_access

APP = Path(__file__).with_name("app.py")


def main(argv: Sequence[str] | None = None) -> int:
    """Serve the pages until a signal comes; gives the exit status."""
    try:
        settings = _settings(_parser().parse_args(argv))
        readers = read_access(settings).readers
        host, port = settings.dashboard.host, settings.dashboard.port
        if not readers and not is_loopback(host):
            message = (
                f"the pages would be served on {host} for everybody; "
                "name a token in the settings first: tokens: [{env: TAXIMETER_TOKEN, scopes: [read, write]}]"
            )
            raise UnsafeBindError(message)
        if port:
            ports.require_free({"dashboard.port": (host, port)})
        serve(from_settings(settings, readers[0] if readers else None), host, port, readers, _names(settings))
    except TaximeterError as error:
        say(f"taximeter dashboard: {error}")
        return error.exit_status
    return 0


def serve(
    source: Source, host: str, port: int, readers: Sequence[str] = (), names: Sequence[str] = ()
) -> None:
    """Run Streamlit in this process and block until a signal comes.

    Args:
        source: what the pages ask.
        host: where to listen.
        port: 0 takes a free one; the ready line tells which.
        readers: tokens of which a visitor must show one; none leaves the pages open to who can reach them.
        names: host names under which a browser may open the pages; empty for any.
    """

    @asynccontextmanager
    async def ready(_: st.App) -> AsyncIterator[None]:
        say(f"taximeter dashboard: ready on http://{host}:{st.get_option('server.port')}")
        yield

    _warm()
    gate = [Middleware(Gate, tokens=readers)] if readers else []
    app = st.App(APP, secrets=source.as_secrets(), lifespan=ready, middleware=gate)
    app.run(config=_options(host, port) | {"server.allowedHosts": list(names)})


def _warm() -> None:
    """Load what the first page needs before the ready line: the first visitor must not wait for it."""
    import dashboard.views.overview  # noqa: F401
    from dashboard.charts.states import state_stack
    from dashboard.wall import Wall

    state_stack([], Wall("UTC", timedelta()), None).to_json()


def _options(host: str, port: int) -> dict[str, object]:
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


def _names(settings: Settings) -> list[str]:
    """Name the hosts that the pages may be opened as: a web page that points its name here gets nothing.

    Beyond loopback the token guards, and the names of this machine are not known here.
    """
    if not is_loopback(settings.dashboard.host):
        return []
    public = urlsplit(settings.dashboard.public_url or "").hostname
    return ["localhost", "127.0.0.1", "::1", *([public] if public else [])]


def _settings(arguments: argparse.Namespace) -> Settings:
    values = settings_file.load(arguments.config, data=arguments.data)
    changes = {
        key: getattr(arguments, key) for key in ("host", "port") if getattr(arguments, key) is not None
    }
    return values.model_copy(update={"dashboard": values.dashboard.model_copy(update=changes)})


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="taximeter dashboard", description="Serve the pages.")
    parser.add_argument("--config", "-c", type=Path, help="settings file [taximeter.yaml if there]")
    parser.add_argument("--data", "-d", type=Path, help="data folder [from the settings]")
    parser.add_argument("--host", help="where to listen [127.0.0.1]")
    parser.add_argument("--port", type=int, help="where to listen, 0 for any free port [8501]")
    return parser


if __name__ == "__main__":
    sys.exit(main())
