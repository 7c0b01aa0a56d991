"""Which addresses a notification may be sent to, and an HTTP client that goes to the checked one only.

The name is looked up once and the connection goes to the address that was checked: a name that answers
differently a moment later cannot lead elsewhere. Redirects are not followed.
"""

import ipaddress
import socket
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit, urlunsplit

from taximeter.errors import SettingsError, TaximeterError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
TIMEOUT_S = 10.0
# Addresses under which clouds tell a machine its own secrets; those of 169.254 are link-local anyway.
_METADATA = {
    ipaddress.ip_address(text)
    for text in ("100.100.100.200", "192.0.0.192", "168.63.129.16", "fd00:ec2::254")
}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


class UndeliverableError(TaximeterError):
    """A notification that did not arrive; `retry_after_s` is what the other side asked to wait."""

    def __init__(self, reason: str, retry_after_s: float | None = None) -> None:
        """Say why, without any secret."""
        super().__init__(reason)
        self.retry_after_s = retry_after_s


def check_host(host: str, port: int, *, allow_private: bool) -> str:
    """Look a host up and check every address it has; returns one of them.

    Raises:
        SettingsError: an address is link-local, a metadata service, or private without leave.
        UndeliverableError: the name leads nowhere at present.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        message = f"the name {host} leads nowhere"
        raise UndeliverableError(message) from None
    texts = [str(entry[4][0]).partition("%")[0] for entry in found]
    for text in texts:
        reason = _refusal(_unwrapped(ipaddress.ip_address(text)), allow_private=allow_private)
        if reason:
            message = f"notifications are not sent to {host}: {reason}"
            raise SettingsError(message)
    return texts[0]


def post(url: str, body: bytes, headers: Mapping[str, str], *, allow_private: bool) -> None:
    """Send a request to a checked address.

    Raises:
        SettingsError: the address may not be sent to, or is no http(s) address.
        UndeliverableError: nobody answered, or the answer was not 2xx. The text never holds the URL's path.
    """
    parts = urlsplit(url)
    host, port = _host_and_port(parts)
    address = check_host(host, port, allow_private=allow_private)
    is_public = not allow_private or ipaddress.ip_address(address).is_global
    if parts.scheme == "http" and is_public:
        message = f"notifications are sent to {host} by https only"
        raise SettingsError(message)
    import httpx  # at the first message: the program starts sooner

    pinned = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    netloc = f"[{address}]:{port}" if ":" in address else f"{address}:{port}"
    try:
        with httpx.Client(timeout=TIMEOUT_S, trust_env=False, follow_redirects=False) as client:
            answer = client.post(
                f"{parts.scheme}://{netloc}{pinned}",
                content=body,
                headers={**headers, "host": _host_header(parts)},
                extensions={"sni_hostname": host},
            )
    except httpx.HTTPError as error:
        message = f"{host} does not answer ({type(error).__name__})"
        raise UndeliverableError(message) from None
    if not answer.is_success:
        message = f"{host} answered {answer.status_code}"
        raise UndeliverableError(message, _retry_after_s(answer.headers.get("retry-after", "")))


def _host_and_port(parts: SplitResult) -> tuple[str, int]:
    try:
        port = parts.port
    except ValueError:
        port = None
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        message = "a channel's address must begin with https:// (or http:// on a private network)"
        raise SettingsError(message)
    return parts.hostname, port or (443 if parts.scheme == "https" else 80)


def _host_header(parts: SplitResult) -> str:
    return parts.netloc.rpartition("@")[2]


def _unwrapped(address: Address) -> Address:
    """The IPv4 address inside an IPv6 one that only carries it."""
    if isinstance(address, ipaddress.IPv6Address):
        if address in _NAT64:
            return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        return address.ipv4_mapped or address.sixtofour or address
    return address


def _refusal(address: Address, *, allow_private: bool) -> str | None:
    if address in _METADATA:
        return f"{address} is a metadata service"
    if address.is_link_local or address.is_multicast or address.is_unspecified:
        return f"{address} is link-local or no host"
    if not address.is_global and not allow_private:
        return f"{address} is private; set allow_private for this channel if that is meant"
    return None


def _retry_after_s(text: str) -> float | None:
    return float(text) if text.isdigit() else None
