"""Both edges on one event loop: binding, starting, stopping."""

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import NamedTuple

import grpc
import uvicorn

from collector.edge import grpc_edge, http
from collector.edge.bounded import BoundedProtocol
from collector.edge.intake import Intake
from taximeter.errors import BusyError

_STOP_S = 3
# Exporters send every 5 s or so; a connection closed at just that moment would cost them a retry.
_KEEP_ALIVE_S = 75
_BACKLOG = 1024


class Ports(NamedTuple):
    """The ports that are really listened on."""

    grpc: int
    http: int


class Edges:
    """The two servers, running."""

    def __init__(self, ports: Ports, grpc_server: grpc.aio.Server, http_server: uvicorn.Server) -> None:
        """Made by `start`."""
        self.ports = ports
        self._grpc = grpc_server
        self._http = http_server
        self._serving: asyncio.Task[None] | None = None

    @classmethod
    async def start(cls, intake: Intake, host: str, grpc_port: int, http_port: int) -> "Edges":
        """Listen on both ports (0 picks a free one); both answer when this returns.

        Raises:
            BusyError: a port is taken, or the address is not one of this machine.
        """
        listening = _listen(host, http_port)
        grpc_server = grpc_edge.server(intake)
        try:
            bound = grpc_server.add_insecure_port(_address(host, grpc_port))
        except RuntimeError:
            listening.close()
            raise _busy(host, grpc_port, "grpc") from None
        await grpc_server.start()
        config = uvicorn.Config(
            http.application(intake),
            http=BoundedProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            log_level="warning",
            server_header=False,
            timeout_keep_alive=_KEEP_ALIVE_S,
            timeout_graceful_shutdown=_STOP_S,
        )
        edges = cls(Ports(bound, listening.getsockname()[1]), grpc_server, _Server(config))
        await edges._serve(listening)
        return edges

    async def stop(self) -> None:
        """Take nothing new, answer what was taken, close."""
        self._http.should_exit = True
        await self._grpc.stop(_STOP_S)
        if self._serving is not None:
            await self._serving

    async def _serve(self, listening: socket.socket) -> None:
        self._serving = asyncio.create_task(self._http.serve(sockets=[listening]))
        while not self._http.started:
            if self._serving.done():
                await self._serving
            await asyncio.sleep(0.005)


class _Server(uvicorn.Server):
    """uvicorn without its signal handlers: the program has its own."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((host, port))
        listening.listen(_BACKLOG)
    except OSError:
        listening.close()
        raise _busy(host, port, "http") from None
    return listening


def _address(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _busy(host: str, port: int, which: str) -> BusyError:
    message = (
        f"collector: cannot listen on {_address(host, port)}; another program has the port, or this machine "
        f"has no such address. Choose another with --{which}-port (0 picks a free one)"
    )
    return BusyError(message)
