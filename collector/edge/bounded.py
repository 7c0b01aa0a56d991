"""What one HTTP connection may cost before it has said what it wants: time, bytes of headers, and a place."""

import asyncio
import resource
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

HEADERS_S = 10.0
HEADER_BYTES = 64 * 1024
_MOST_CONNECTIONS = 4_096
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 2\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)
_TOO_LONG = b"HTTP/1.1 431 Request Header Fields Too Large\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"


def most_connections() -> int:
    """Tell how many connections are taken: half of the files that this process may open, 4,096 at most."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(_MOST_CONNECTIONS, files // 2) if files > 0 else _MOST_CONNECTIONS


class BoundedProtocol(HttpToolsProtocol):
    """HTTP/1.1 whose headers must be whole within `HEADERS_S` and `HEADER_BYTES`.

    A connection too many is told to come again; one that says nothing in time is closed.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._header_bytes = 0
        self._in_headers = True
        self._too_slow: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take the connection, unless it is one too many."""
        super().connection_made(transport)
        if len(self.connections) > most_connections():
            transport.write(_BUSY)
            transport.close()
            return
        self._wait_for_headers()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Take bytes; headers that are too long end the connection."""
        if self._in_headers:
            self._header_bytes += len(data)
        super().data_received(data)
        # What came behind the headers in one piece is no header: only a piece that did not end them counts.
        if self._in_headers and self._header_bytes > HEADER_BYTES and not self.transport.is_closing():
            self.transport.write(_TOO_LONG)
            self.transport.close()

    def on_message_begin(self) -> None:
        """Wait for the headers of the next request."""
        super().on_message_begin()
        self._in_headers, self._header_bytes = True, 0
        self._wait_for_headers()

    def on_headers_complete(self) -> None:
        """Start the request."""
        self._in_headers = False
        self._stop_waiting()
        super().on_headers_complete()

    def _wait_for_headers(self) -> None:
        if self._too_slow is None:
            self._too_slow = self.loop.call_later(HEADERS_S, self.transport.close)

    def _stop_waiting(self) -> None:
        if self._too_slow is not None:
            self._too_slow.cancel()
            self._too_slow = None
