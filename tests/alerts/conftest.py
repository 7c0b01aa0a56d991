"""A receiver, reports with idle GPUs, and notifications to send."""

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from alerts.notification import Notification
from alerts.testing import START_NS, Receiver, receiving
from taximeter.clock import NS_PER_S, to_datetime

AT = pa.timestamp("us")
_GPUS_NOW = {
    **dict.fromkeys(("gpu_id", "gpu_name", "sku", "deployment", "replica", "state"), pa.string()),
    "since_at": AT,
    "idle_s": pa.float64(),
    "last_sample_at": AT,
    "last_util_ratio": pa.float64(),
    "usd_per_hour": pa.decimal128(18, 6),
    "price_source": pa.string(),
    "simulated": pa.bool_(),
}
_REPLICA_NEED = {
    "deployment": pa.string(),
    **dict.fromkeys(("replicas", "most_needed", "never_needed"), pa.int64()),
    "usd_per_replica_hour": pa.decimal128(18, 6),
    "from_at": AT,
    "until_at": AT,
    "coverage_ratio": pa.float64(),
}


def _table(columns: dict[str, pa.DataType], rows: list[dict[str, Any]]) -> pa.Table:
    return pa.table({name: pa.array([row.get(name) for row in rows], kind) for name, kind in columns.items()})


def _naive(instant_ns: int) -> Any:
    return to_datetime(instant_ns).replace(tzinfo=None)


def _idle(idle_s: float | None) -> dict[str, float | None]:
    """A card that works has no idle time, as the report says it."""
    return {"idle_s": idle_s or None, "last_util_ratio": 0.0 if idle_s else 0.9}


@pytest.fixture
def gpus_now() -> Callable[..., pa.Table]:
    """Make the report `gpus_now`: one row per (gpu id, idle seconds); 0 is a card at work."""

    def make(idle: dict[str, float | None], now_ns: int = START_NS, **changes: Any) -> pa.Table:
        base = {
            "gpu_name": "NVIDIA H100",
            "deployment": "qwen-coder",
            "state": "spare",
            "last_sample_at": _naive(now_ns - NS_PER_S),
            "usd_per_hour": Decimal("3.99"),
            "price_source": "contract 2026-11",
            "simulated": False,
            **changes,
        }
        return _table(_GPUS_NOW, [{**base, "gpu_id": name, **_idle(idle[name])} for name in idle])

    return make


@pytest.fixture
def replica_need() -> Callable[..., pa.Table]:
    """Make the report `replica_need`: one row, four replicas of which two were needed, a whole day known."""

    def make(now_ns: int = START_NS, **changes: Any) -> pa.Table:
        row = {
            "deployment": "qwen-coder",
            "replicas": 4,
            "most_needed": 2,
            "never_needed": 2,
            "usd_per_replica_hour": Decimal("7.98"),
            "from_at": _naive(now_ns - 86_400 * NS_PER_S),
            "until_at": _naive(now_ns - 900 * NS_PER_S),
            "coverage_ratio": 0.99,
            **changes,
        }
        return _table(_REPLICA_NEED, [row])

    return make


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A real HTTP server on loopback."""
    with receiving() as server:
        yield server


@pytest.fixture
def notification() -> Callable[..., Notification]:
    """Make a notification; changes win."""

    def make(**changes: Any) -> Notification:
        values = {
            "idempotency_key": "key-1",
            "alert_key": "alert-1",
            "rule": "gpu_idle",
            "status": "firing",
            "kind": "firing",
            "severity": "warning",
            "labels": {"deployment": "qwen-coder"},
            "title": "2 idle GPUs of qwen-coder: $7.98 an hour",
            "text": "Idle for up to 75 s.",
            "advice": "Scale qwen-coder from 4 to 2 replicas.",
            "link": "http://127.0.0.1:8501/gpus?deployment=qwen-coder&since=24h",
            "started_at": "2026-12-01T12:00:00+00:00",
            "at": "2026-12-01T12:00:00+00:00",
            **changes,
        }
        return Notification.model_validate(values)

    return make
