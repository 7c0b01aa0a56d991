"""Everything else, through Apprise: mail, chat, paging, by one address each."""

import logging
import warnings
from typing import Any

import apprise

from alerts.channels.target import UndeliverableError, check_host
from alerts.notification import Notification
from taximeter.errors import SettingsError

_ANY_PORT = 443
_TYPES = {
    "info": apprise.NotifyType.INFO,
    "warning": apprise.NotifyType.WARNING,
    "critical": apprise.NotifyType.FAILURE,
}
# Its messages of lower rank show addresses, and an address is a secret here.
logging.getLogger("apprise").setLevel(logging.CRITICAL)


class AppriseChannel:
    """One Apprise address; the address is the secret."""

    def __init__(self, url: str, *, allow_private: bool) -> None:
        """Read the address.

        Raises:
            SettingsError: Apprise knows no such service, or not all parts of the address are there.
        """
        self._allow_private = allow_private
        # The first address loads all its services, some of which import what Python has deprecated.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            service = apprise.Apprise.instantiate(url)
        if service is None:
            message = "this is no address of a service that Apprise knows"
            raise SettingsError(message)
        self._service = service

    def send(self, notification: Notification) -> None:
        """Deliver, or raise UndeliverableError."""
        host = _own_host(self._service)
        if host:
            check_host(host, self._service.port or _ANY_PORT, allow_private=self._allow_private)
        resolved = notification.status == "resolved"
        lines = [notification.text, notification.advice, notification.link]
        if notification.simulated:
            lines.insert(0, "Simulated data.")
        arrived = self._service.notify(
            title=notification.title,
            body="\n\n".join(line for line in lines if line),
            notify_type=apprise.NotifyType.SUCCESS if resolved else _TYPES[notification.severity],
        )
        if not arrived:
            message = f"{self._service.service_name} did not take it"
            raise UndeliverableError(message)


def _own_host(service: Any) -> str | None:
    """The host that the address names itself; most services have a fixed one and keep tokens in its place."""
    names_host = any("{host}" in template for template in service.templates)
    return str(service.host) if names_host and service.host else None
