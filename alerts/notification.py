"""One notification: what every channel shows in its own way, and what makes a second delivery harmless."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from alerts.facts import fill, fill_link, gather
from alerts.rule import Rule, Severity
from alerts.states import Event
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.units import duration

_RESOLVED_TITLE = "Resolved: {title}"


class Notification(BaseModel):
    """What is told. Stored as JSON until it is delivered; sent twice only after a crash, with equal keys."""

    model_config = ConfigDict(frozen=True)

    idempotency_key: str
    alert_key: str  # the same for all notifications of one alert: they arrive in order
    rule: str
    status: Literal["firing", "resolved", "test"]
    kind: str
    severity: Severity
    labels: dict[str, str | None]
    title: str
    text: str
    advice: str | None = None
    link: str
    started_at: str
    at: str
    simulated: bool = False


def notify(rule: Rule, event: Event, advice: str | None, dashboard_url: str) -> Notification:
    """Write the notification of an event; `advice` is a sentence of the planner, where there is one."""
    labels = {**rule.labels, **dict(event.labels)}
    facts = gather(event.group.rows, labels)
    facts["lasted"] = duration((event.at_ns - event.fired_ns) / NS_PER_S)
    resolved = event.kind == "resolved"
    title = fill(rule.title if event.group.rows else rule.name.replace("_", " "), facts)
    alert_key = _key(rule.name, event.labels)
    return Notification(
        idempotency_key=_key(alert_key, event.fired_ns, event.number, event.kind),
        alert_key=alert_key,
        rule=rule.name,
        status="resolved" if resolved else "firing",
        kind=event.kind,
        severity=rule.severity,
        labels=labels,
        title=_RESOLVED_TITLE.format(title=_subject(rule, labels)) if resolved else title,
        text=event.reason or fill(rule.resolved, facts) if resolved else fill(rule.text, facts),
        advice=None if resolved else advice,
        link=dashboard_url.rstrip("/") + fill_link(rule.link, labels),
        started_at=to_datetime(event.fired_ns).isoformat(),
        at=to_datetime(event.at_ns).isoformat(),
        simulated=event.simulated,
    )


def _subject(rule: Rule, labels: Mapping[str, str | None]) -> str:
    about = ", ".join(value for name, value in labels.items() if value and name not in rule.labels)
    return f"{rule.name.replace('_', ' ')}{': ' if about else ''}{about}"


def _key(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]
