"""Whether ports can be listened on, and which are free."""

import contextlib
import socket
from collections.abc import Mapping

from taximeter.errors import BusyError


def is_free(host: str, port: int) -> bool:
    """Tell whether a program could listen there now."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


def any_free(host: str) -> int:
    """Ask the system for a port that nobody listens on."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])


def require_free(wanted: Mapping[str, tuple[str, int]]) -> None:
    """Check that every port is free; `wanted` maps a setting's name to its host and port.

    Raises:
        BusyError: somebody listens on one of them; the message names the setting to change.
    """
    for setting, (host, port) in wanted.items():
        if not is_free(host, port):
            variable = "TAXIMETER_" + setting.upper().replace(".", "__")
            message = (
                f"port {port} on {host} is taken by another program; "
                f"stop it, or choose another: {setting} in taximeter.yaml, or {variable}=..."
            )
            raise BusyError(message)
