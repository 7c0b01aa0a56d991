"""Who may send: tokens, their tenants, and on which addresses an edge may listen without any."""

from collections.abc import Sequence
from ipaddress import ip_address
from typing import NamedTuple

from collector.edge.refusal import NO_TOKEN, WRONG_SCOPE, RefusedError
from taximeter.errors import UnsafeBindError
from taximeter.secret import read_secret, same_secret
from taximeter.settings import Token

DEFAULT_TENANT = "default"


class Grant(NamedTuple):
    """What the holder of one token may do."""

    secret: str
    tenant: str
    may_write: bool


def read_grants(tokens: Sequence[Token]) -> tuple[Grant, ...]:
    """Read the tokens that the settings name from the environment.

    Raises:
        SettingsError: a variable that the settings name is not set.
    """
    return tuple(
        Grant(read_secret(token.env), token.tenant, bool({"write", "admin"} & set(token.scopes)))
        for token in tokens
    )


def tenant_of(grants: Sequence[Grant], authorization: str | None) -> str:
    """Name the tenant that an Authorization header speaks for; without any grants everyone is the default.

    Raises:
        RefusedError: there is no bearer token, nobody knows it, or it may not write.
    """
    if not grants:
        return DEFAULT_TENANT
    scheme, _, given = (authorization or "").partition(" ")
    if scheme.lower() != "bearer" or not given:
        raise RefusedError(NO_TOKEN, "send the header Authorization: Bearer <token>")
    # Every token is compared, so that the time does not tell which one was nearly right.
    matches = [grant for grant in grants if same_secret(given.strip(), grant.secret)]
    if not matches:
        raise RefusedError(NO_TOKEN, "this token is not known here")
    if not matches[0].may_write:
        raise RefusedError(WRONG_SCOPE, "this token may not send telemetry; it lacks the scope write")
    return matches[0].tenant


def check_bind(host: str, *, has_tokens: bool) -> None:
    """Refuse to listen beyond this machine while anyone could send.

    Raises:
        UnsafeBindError: the address is reachable from outside and no token is configured.
    """
    if has_tokens or _is_loopback(host):
        return
    message = (
        f"collector: {host} can be reached from other machines and no token is set. Export a secret "
        "(export TAXIMETER_TOKEN=$(openssl rand -hex 32)) and name it in taximeter.yaml "
        "(tokens: [{env: TAXIMETER_TOKEN}]), or listen on 127.0.0.1"
    )
    raise UnsafeBindError(message)


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
