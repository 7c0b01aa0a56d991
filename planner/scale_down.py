"""Advice: which replicas of a deployment the load of the last day never needed."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from taximeter.clock import NS_PER_S, to_datetime, to_ns
from taximeter.units import share, usd

LOOK_BACK_S = 86_400
MIN_COVERAGE_RATIO = 0.9
SETTLE_S = (900, 3_600, 14_400)  # how long ago the day may end, tried in this order
HOURS_PER_MONTH = 730  # 8,760 hours a year over twelve months


class Reports(Protocol):
    """Who answers reports."""

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        """Answer a report or raise TaximeterError."""
        ...


class Advice(NamedTuple):
    """A scale-down that the recorded load allows, or why none is given.

    `never_needed` is None where no advice can be given, 0 where all replicas were needed at once. Money is
    None where no price is known. `coverage_ratio` is the share of the day that is recorded.
    """

    deployment: str
    from_ns: int
    until_ns: int
    sentence: str
    replicas: int | None = None
    most_needed: int | None = None
    never_needed: int | None = None
    usd_per_month: Decimal | None = None
    coverage_ratio: float | None = None


def scale_down(client: Reports, deployment: str, now_ns: int) -> Advice:
    """Advise on a deployment from its last settled day.

    A day is settled where no task that began in it is still open: it ends 15 minutes ago, else an hour ago,
    else four. No advice is given where tasks are open even then, or where less than 90 % of the day is known:
    by samples, or because the recording is younger.

    Raises:
        TaximeterError: the warehouse does not answer.
    """
    for settle_s in SETTLE_S:
        until_ns = now_ns - settle_s * NS_PER_S
        since_ns = until_ns - LOOK_BACK_S * NS_PER_S
        table = client.report("replica_need", since_ns=since_ns, until_ns=until_ns)
        rows = [row for row in table.to_pylist() if row["deployment"] == deployment]
        advice = Advice(deployment, since_ns, until_ns, "")
        if rows and not rows[0].get("open_tasks"):
            return _judge(advice, rows[0])
    if not rows:
        return _refuse(advice, f"no load of {deployment} is recorded in the last day")
    return _refuse(advice, f"{rows[0]['open_tasks']} of its tasks are still open, so its load is not settled")


def _judge(advice: Advice, row: dict[str, Any]) -> Advice:
    covered = advice._replace(coverage_ratio=_coverage(advice, row))
    reason = _reason_against(covered, row)
    return _refuse(covered, reason) if reason else _advise(covered, row)


def _coverage(advice: Advice, row: dict[str, Any]) -> float | None:
    """The share of the asked day that is known: the recorded part of it, times its coverage."""
    if row["coverage_ratio"] is None or row["from_at"] is None or row["until_at"] is None:
        return None
    start_ns = max(_instant(row["from_at"]), advice.from_ns)
    end_ns = min(_instant(row["until_at"]), advice.until_ns)
    recorded = max(end_ns - start_ns, 0) / (advice.until_ns - advice.from_ns)
    return recorded * min(float(row["coverage_ratio"]), 1.0)


def _reason_against(advice: Advice, row: dict[str, Any]) -> str | None:
    coverage = advice.coverage_ratio
    if coverage is None:
        return "it is unknown how much of the last day is recorded"
    if coverage < MIN_COVERAGE_RATIO:
        return (
            f"only {share(coverage)} of the last day is known, and advice needs {share(MIN_COVERAGE_RATIO)}"
        )
    if None in (row["replicas"], row["most_needed"], row["never_needed"]):
        return "it is unknown how many replicas were needed"
    return None


def _refuse(advice: Advice, reason: str) -> Advice:
    return advice._replace(sentence=f"No scale-down advice: {reason}.")


def _advise(advice: Advice, row: dict[str, Any]) -> Advice:
    replicas, most_needed, never_needed = row["replicas"], row["most_needed"], row["never_needed"]
    price = row["usd_per_replica_hour"]
    saving = None if price is None else price * never_needed * HOURS_PER_MONTH
    known = advice._replace(
        replicas=replicas, most_needed=most_needed, never_needed=never_needed, usd_per_month=saving
    )
    if not never_needed:
        return known._replace(
            sentence=f"No scale-down: all {replicas} replicas of {advice.deployment} were needed at once"
            f" {_when(advice)}."
        )
    left = replicas - never_needed
    return known._replace(
        sentence=f"Scale {advice.deployment} from {replicas} to {left} replica{'' if left == 1 else 's'}:"
        f" never more than {most_needed} were needed at once {_when(advice)}"
        f" ({share(advice.coverage_ratio)} of it known). {_saving(saving, price)}"
    )


def _when(advice: Advice) -> str:
    return f"in the 24 h before {to_datetime(advice.until_ns):%Y-%m-%d %H:%M} UTC"


def _saving(saving: Decimal | None, price: Decimal | None) -> str:
    if saving is None:
        return "The saving is unknown: no price is known."
    return f"That saves {usd(saving)} a month ({HOURS_PER_MONTH} h at {usd(price)} an hour per replica)."


def _instant(value: datetime) -> int:
    return to_ns(value if value.tzinfo else value.replace(tzinfo=UTC))
