"""The HTTP server: one thread that answers while others work."""

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator

import uvicorn
from fastapi import FastAPI

from taximeter.errors import BusyError

GRACE_S = 3


@contextlib.contextmanager
def answering(app: FastAPI, host: str, port: int, ended: Callable[[], None]) -> Iterator[str]:
    """Answer HTTP on a thread of its own until the block ends; gives the URL.

    Args:
        app: what answers.
        host: where to listen.
        port: where to listen; 0 takes any free port.
        ended: called when the thread ends, for whatever reason.

    Raises:
        BusyError: somebody listens there, or this host is not ours.
    """
    config = uvicorn.Config(
        app,
        log_level="error",
        access_log=False,
        lifespan="off",
        timeout_graceful_shutdown=GRACE_S,
    )
    server = uvicorn.Server(config)
    with _listen(host, port) as listener:

        def run() -> None:
            try:
                server.run(sockets=[listener])
            finally:
                ended()

        thread = threading.Thread(target=run, name="http")
        thread.start()
        try:
            yield _url(listener)
        finally:
            server.should_exit = True
            thread.join()


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except OSError as error:
        message = f"cannot listen on {host} port {port}: {error.strerror}; choose another with --port"
        raise BusyError(message) from None


def _url(listener: socket.socket) -> str:
    """Write the address at which this machine reaches the listener; 'any address' is reached by loopback."""
    host, port = listener.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - compared, not bound
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
