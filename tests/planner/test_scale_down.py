"""Scale-down advice: what the last settled day never needed, and why sometimes nothing can be said."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.scale_down import Advice, scale_down
from taximeter.clock import NS_PER_S, to_datetime

NOW = 1_796_126_400 * NS_PER_S
DAY_NS = 86_400 * NS_PER_S
AT = pa.timestamp("us")


def _naive(instant_ns: int) -> datetime:
    return to_datetime(instant_ns).replace(tzinfo=None)


class Need:
    """Answers `replica_need` with one row and keeps what was asked."""

    def __init__(self, **changes: Any) -> None:
        self.asked: list[tuple[Any, Any]] = []
        self._open_until_ns = changes.pop("open_until_ns", 0)
        self._row = {
            "deployment": "qwen",
            "replicas": 4,
            "most_needed": 2,
            "never_needed": 2,
            "usd_per_replica_hour": Decimal("7.98"),
            "from_at": _naive(NOW - 2 * DAY_NS),
            "until_at": _naive(NOW - 900 * NS_PER_S),
            "coverage_ratio": 0.99,
            **changes,
        }

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        assert name == "replica_need"
        self.asked.append((params["since_ns"], params["until_ns"]))
        open_tasks = int(float(params["until_ns"] or 0) > self._open_until_ns > 0)
        kinds = {"from_at": AT, "until_at": AT, "coverage_ratio": pa.float64()}
        return pa.table(
            {
                key: pa.array([value], kinds.get(key, pa.decimal128(18, 6) if "usd" in key else None))
                for key, value in {**self._row, "open_tasks": open_tasks}.items()
            }
        )


def _advice(**changes: Any) -> Advice:
    return scale_down(Need(**changes), "qwen", NOW)


def test_what_was_never_needed_can_go_and_saves_its_price() -> None:
    """Two of four replicas at $7.98 an hour are 11,650.80 dollars a month of 730 hours."""
    advice = _advice()

    assert (advice.replicas, advice.most_needed, advice.never_needed) == (4, 2, 2)
    assert advice.usd_per_month == Decimal("11650.80")
    assert "Scale qwen from 4 to 2 replicas" in advice.sentence
    assert "$11,650.80 a month (730 h at $7.98 an hour per replica)" in advice.sentence


def test_only_a_settled_day_is_asked_for() -> None:
    """The last quarter of an hour may still change, so the day ends before it."""
    need = Need()
    scale_down(need, "qwen", NOW)

    assert need.asked == [(NOW - 900 * NS_PER_S - DAY_NS, NOW - 900 * NS_PER_S)]


def test_a_day_with_open_tasks_is_left_for_an_earlier_one() -> None:
    """Tasks that began half an hour ago and are open make the advice look at an earlier day."""
    need = Need(open_until_ns=NOW - 1800 * NS_PER_S)

    advice = scale_down(need, "qwen", NOW)

    assert advice.never_needed == 2
    assert advice.until_ns == NOW - 3600 * NS_PER_S
    assert advice.from_ns == advice.until_ns - DAY_NS
    assert "in the 24 h before 2026-12-01 11:00 UTC" in advice.sentence


def test_a_saving_without_a_price_is_unknown_not_zero() -> None:
    """The advice stays, the money is not invented."""
    advice = _advice(usd_per_replica_hour=None)

    assert advice.never_needed == 2
    assert advice.usd_per_month is None
    assert "saving is unknown" in advice.sentence
    assert "$" not in advice.sentence


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"coverage_ratio": 0.89}, "only 89.0 % of the last day is known"),
        ({"from_at": _naive(NOW - 3600 * NS_PER_S)}, "of the last day is known"),
        ({"coverage_ratio": None}, "unknown how much"),
        ({"from_at": None}, "unknown how much"),
        ({"open_until_ns": 1}, "1 of its tasks are still open"),
        ({"most_needed": None, "never_needed": None}, "unknown how many replicas were needed"),
        ({"deployment": "other"}, "no load of qwen is recorded"),
    ],
)
def test_too_little_known_is_no_advice_and_says_why(changes: dict[str, Any], reason: str) -> None:
    """Under 90 % of the day, on provisional data or without the figure itself nothing is recommended."""
    advice = _advice(**changes)

    assert advice.never_needed is None
    assert advice.usd_per_month is None
    assert advice.sentence.startswith("No scale-down advice: ")
    assert reason in advice.sentence


def test_a_load_that_needed_all_replicas_is_left_alone() -> None:
    """Nothing to save is a finding, not an unknown."""
    advice = _advice(most_needed=4, never_needed=0)

    assert (advice.never_needed, advice.usd_per_month) == (0, Decimal(0))
    assert "all 4 replicas of qwen were needed at once" in advice.sentence


@settings(max_examples=100, deadline=None)
@given(
    replicas=st.integers(1, 64),
    needed=st.integers(0, 64),
    coverage=st.floats(0, 1.0),
    recorded_s=st.integers(0, 86_400),
    price=st.none() | st.decimals("0.01", "100", places=6),
)
def test_advice_never_goes_below_the_need_nor_saves_more_than_the_fleet_costs(
    replicas: int, needed: int, coverage: float, recorded_s: int, price: Decimal | None
) -> None:
    """Whatever was recorded: the need stays served, and a month saves at most what the fleet costs."""
    needed = min(needed, replicas)
    advice = _advice(
        replicas=replicas,
        most_needed=needed,
        never_needed=replicas - needed,
        coverage_ratio=coverage,
        from_at=_naive(NOW - recorded_s * NS_PER_S),
        usd_per_replica_hour=price,
    )

    if advice.never_needed is None:
        assert coverage * max(recorded_s - 900, 0) / 86_400 < 0.9 + 1e-9
        return
    assert replicas - advice.never_needed >= needed
    assert (advice.usd_per_month is None) is (price is None)
    if price is not None:
        assert advice.usd_per_month is not None
        assert 0 <= advice.usd_per_month <= price * replicas * 730
