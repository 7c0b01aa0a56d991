"""Channels from the settings: the one place where their secrets are read."""

from collections.abc import Mapping
from typing import Protocol

from alerts.channels.slack import SlackChannel
from alerts.channels.webhook import WebhookChannel
from alerts.notification import Notification
from taximeter.clock import Clock
from taximeter.errors import SettingsError
from taximeter.secret import read_secret
from taximeter.settings import Channel

_ADDRESSES = ("slack_webhook_env", "webhook_env", "webhook_url", "apprise_env")


class Sender(Protocol):
    """What every channel can do."""

    def send(self, notification: Notification) -> None:
        """Deliver a notification.

        Raises:
            UndeliverableError: it did not arrive; try again later.
            SettingsError: it may not be sent there.
        """
        ...


def build_channels(channels: Mapping[str, Channel], clock: Clock) -> dict[str, Sender]:
    """Make the channels of the settings, by name.

    Raises:
        SettingsError: a channel names no or two addresses, or the variable of a secret is not set.
    """
    return {name: _build(name, channel, clock) for name, channel in channels.items()}


def _build(name: str, channel: Channel, clock: Clock) -> Sender:
    kinds = [key for key in _ADDRESSES if getattr(channel, key) is not None]
    if len(kinds) != 1:
        message = f"alerts.channels.{name} must name one of {', '.join(_ADDRESSES)}"
        raise SettingsError(message)
    if channel.slack_webhook_env:
        return SlackChannel(read_secret(channel.slack_webhook_env), allow_private=channel.allow_private)
    if channel.apprise_env:
        # Only who uses it waits for its import.
        from alerts.channels.apprise_channel import AppriseChannel

        return AppriseChannel(read_secret(channel.apprise_env), allow_private=channel.allow_private)
    url = channel.webhook_url or read_secret(str(channel.webhook_env))
    secret = read_secret(channel.secret_env) if channel.secret_env else None
    return WebhookChannel(url, secret, clock, allow_private=channel.allow_private)
