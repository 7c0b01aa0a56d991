"""Slack incoming webhooks: Block Kit with a button that leads to the page behind the alert.

Lengths are Slack's limits: 150 characters in a header, 3,000 in a section. What the data says is escaped, so
that a name can neither mention a channel nor make a link.
"""

import json
from typing import Any

from alerts.channels.target import post
from alerts.notification import Notification

_HEADER_CHARS = 150
_SECTION_CHARS = 3_000
_MARKS = {"info": "ℹ️", "warning": "⚠️", "critical": "🚨"}  # noqa: RUF001 - the sign Slack shows


class SlackChannel:
    """One incoming webhook; its address is the secret."""

    def __init__(self, url: str, *, allow_private: bool) -> None:
        """Take the webhook's address."""
        self._url = url
        self._allow_private = allow_private

    def send(self, notification: Notification) -> None:
        """Deliver, or raise UndeliverableError."""
        body = json.dumps(to_blocks(notification), ensure_ascii=False).encode()
        headers = {"content-type": "application/json", "user-agent": "taximeter-alerts"}
        post(self._url, body, headers, allow_private=self._allow_private)


def to_blocks(notification: Notification) -> dict[str, Any]:
    """Write a notification as a Slack message; `text` is what a phone shows."""
    title = f"{_mark(notification)} {notification.title}"
    sections = [notification.text] + ([notification.advice] if notification.advice else [])
    about = [f"rule {notification.rule}", f"since {notification.started_at}"]
    if notification.simulated:
        about.insert(0, "simulated data")
    return {
        "text": _escape(title),
        "blocks": [
            {"type": "header", "text": {"type": "plain_text", "text": _cut(title, _HEADER_CHARS)}},
            *(
                {"type": "section", "text": {"type": "mrkdwn", "text": _cut(_escape(text), _SECTION_CHARS)}}
                for text in sections
            ),
            {
                "type": "actions",
                "elements": [
                    {
                        "type": "button",
                        "text": {"type": "plain_text", "text": "Show why"},
                        "url": notification.link,
                    }
                ],
            },
            {"type": "context", "elements": [{"type": "mrkdwn", "text": _escape(" · ".join(about))}]},
        ],
    }


def _mark(notification: Notification) -> str:
    return "✅" if notification.status == "resolved" else _MARKS[notification.severity]


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
