"""Who may read reports, and from where the program may be reached."""

import ipaddress
from typing import NamedTuple

from taximeter.errors import TaximeterError, UnsafeBindError
from taximeter.secret import read_secret, same_secret
from taximeter.settings import Settings

_READ_SCOPES = {"read", "admin"}
_LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}


class UnauthorizedError(TaximeterError):
    """No token, or none that is known."""


class ForbiddenError(TaximeterError):
    """A token that is known but may not read, or an address that is not ours."""


class Access(NamedTuple):
    """What a request must show: a token that may read, or, where there are none, a loopback address."""

    readers: tuple[str, ...]
    others: tuple[str, ...]
    admins: tuple[str, ...] = ()

    def check(self, authorization: str | None, host: str | None) -> None:
        """Let a request pass.

        Args:
            authorization: its header of that name.
            host: the host name it was sent to. Without tokens it must be loopback's: a web page that
                points its own name at this machine is not let in.

        Raises:
            UnauthorizedError: a token is needed.
            ForbiddenError: this token may not read, or this is not our host name.
        """
        if not self.readers and not self.others:
            if host not in _LOOPBACK_NAMES:
                message = f"this warehouse answers on loopback only, not as {host}"
                raise ForbiddenError(message)
            return
        scheme, _, given = (authorization or "").partition(" ")
        if scheme.lower() == "bearer" and any(same_secret(given, token) for token in self.readers):
            return
        if scheme.lower() == "bearer" and any(same_secret(given, token) for token in self.others):
            message = "this token may not read reports; it needs the scope read"
            raise ForbiddenError(message)
        message = "a token is needed: Authorization: Bearer ..."
        raise UnauthorizedError(message)

    def check_admin(self, authorization: str | None, host: str | None) -> None:
        """Let a request pass that changes figures: as `check`, and a token must be an admin's.

        Raises:
            UnauthorizedError: a token is needed.
            ForbiddenError: this token may not change anything, or this is not our host name.
        """
        self.check(authorization, host)
        given = (authorization or "").partition(" ")[2]
        if self.readers and not any(same_secret(given, token) for token in self.admins):
            message = "this token may not change figures; it needs the scope admin"
            raise ForbiddenError(message)


def read_access(settings: Settings) -> Access:
    """Read the tokens that the settings name.

    Raises:
        SettingsError: a named variable is not set.
        UnsafeBindError: the warehouse would listen beyond loopback and no token may read.
    """
    readers = tuple(read_secret(token.env) for token in settings.tokens if _READ_SCOPES & set(token.scopes))
    others = tuple(
        read_secret(token.env) for token in settings.tokens if not _READ_SCOPES & set(token.scopes)
    )
    admins = tuple(read_secret(token.env) for token in settings.tokens if "admin" in token.scopes)
    if not readers and not is_loopback(settings.warehouse.host):
        message = (
            f"the warehouse would listen on {settings.warehouse.host} for everybody; "
            "name a token in the settings first: tokens: [{env: TAXIMETER_TOKEN, scopes: [read, write]}]"
        )
        raise UnsafeBindError(message)
    return Access(readers, others, admins)


def read_token(settings: Settings, *, admin: bool = False) -> str | None:
    """Read the first token that may read reports, or change figures, to ask a warehouse with; none for none.

    Raises:
        SettingsError: its variable is not set.
    """
    for token in settings.tokens:
        if ({"admin"} if admin else _READ_SCOPES) & set(token.scopes):
            return read_secret(token.env)
    return None


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach that host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
