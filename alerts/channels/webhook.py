"""Signed JSON to any HTTP endpoint.

Headers: `Idempotency-Key` (equal for every delivery of one notification) and, where the channel has a secret,
`X-Taximeter-Signature: t=<seconds>,v1=<hex>`, the HMAC-SHA256 of `<seconds>.<body>`. A receiver recomputes it
and refuses old times, so that a recorded request cannot be played again.
"""

import hashlib
import hmac
import json

from alerts.channels.target import post
from alerts.notification import Notification
from taximeter.clock import NS_PER_S, Clock

SIGNATURE = "x-taximeter-signature"


class WebhookChannel:
    """One endpoint; `secret` signs, `allow_private` lets it be on this network."""

    def __init__(self, url: str, secret: str | None, clock: Clock, *, allow_private: bool) -> None:
        """Take the address and the secret that were read from the settings."""
        self._url = url
        self._secret = secret
        self._clock = clock
        self._allow_private = allow_private

    def send(self, notification: Notification) -> None:
        """Deliver, or raise UndeliverableError."""
        body = json.dumps(notification.model_dump(), ensure_ascii=False, sort_keys=True).encode()
        headers = {
            "content-type": "application/json",
            "idempotency-key": notification.idempotency_key,
            "user-agent": "taximeter-alerts",
        }
        if self._secret is not None:
            headers[SIGNATURE] = sign(self._secret, self._clock.now_ns() // NS_PER_S, body)
        post(self._url, body, headers, allow_private=self._allow_private)


def sign(secret: str, at_s: int, body: bytes) -> str:
    """Write the signature header of a body sent at a time in seconds since the epoch."""
    digest = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
    return f"t={at_s},v1={digest}"
