"""From loaded rows to the figures of the reports: the models of `warehouse.models`, in one transaction.

What changed since the last refresh stands in `dirty_traces` and `dirty_times`; they are emptied by the
transaction that used them, so that a crash at any point only means that the work is done again. Time itself
changes figures too: open tasks time out, young rows settle, and held GPUs are paid while nothing arrives.
"""

import hashlib
from typing import NamedTuple

from duckdb import DuckDBPyConnection

from taximeter.clock import NS_PER_S, Clock
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse import config_rows, engine_signals, prices, skus
from warehouse.inbox import look
from warehouse.models import MODELS, Model
from warehouse.queries import query


class LastRefresh(NamedTuple):
    """What an earlier refresh left behind."""

    now_ns: int
    took_ns: int
    configuration: str


def refresh(connection: DuckDBPyConnection, settings: Settings, clock: Clock) -> LastRefresh:
    """Bring every figure up to date with the loaded rows, the settings and the time.

    A change of the settings that figures depend on, or of the models themselves, computes everything again.

    Raises:
        SettingsError: the user's price file cannot be used; all figures stay as they were.
    """
    with connection.cursor() as cursor:
        cursor.begin()
        done = compute(cursor, settings, clock)
        cursor.commit()
    return done


def compute(cursor: DuckDBPyConnection, settings: Settings, clock: Clock) -> LastRefresh:
    """Do what `refresh` does inside a transaction of the caller, who commits it or rolls it back.

    Raises:
        SettingsError: the user's price file cannot be used.
    """
    started_s = clock.monotonic_s()
    now_ns = clock.now_ns()
    intake = look(DataFolder(settings.data))
    _set(cursor, settings, now_ns)
    configuration = _configuration(settings)
    if _is_new(cursor, configuration):
        config_rows.write(cursor, settings)
        engine_signals.write(cursor)
        cursor.execute(query("refresh/all_traces"))
        cursor.execute(query("refresh/all_times"), {"now_ns": now_ns})
    cursor.execute(query("refresh/passing_times"), {"now_ns": now_ns})
    cursor.execute(query("refresh/passing_traces"))
    prices.prepare(cursor, settings, now_ns)
    skus.prepare(cursor)
    for model in MODELS:
        _run(cursor, model)
    for table in ("dirty_traces", "dirty_times", "refreshes", "intake"):
        _empty(cursor, "whole", table)
    cursor.execute(query("refresh/remember_intake"), {"looked_ns": now_ns, **intake._asdict()})
    took_ns = round((clock.monotonic_s() - started_s) * NS_PER_S)
    done = LastRefresh(now_ns, took_ns, configuration)
    cursor.execute(query("refresh/remember"), done._asdict())
    return done


def last_refresh(cursor: DuckDBPyConnection) -> LastRefresh | None:
    """Tell when figures were last brought up to date; none if never."""
    row = cursor.execute(query("refresh/last")).fetchone()
    return LastRefresh(*row) if row else None


def _set(cursor: DuckDBPyConnection, settings: Settings, now_ns: int) -> None:
    warehouse = settings.warehouse
    _empty(cursor, "whole", "setting")
    cursor.execute(
        query("refresh/setting"),
        {
            "now_ns": now_ns,
            "settle_ns": warehouse.settle_s * NS_PER_S,
            "task_timeout_ns": warehouse.task_timeout_s * NS_PER_S,
            "released_after_ns": warehouse.released_after_s * NS_PER_S,
            "sample_interval_ns": round(warehouse.sample_interval_s * NS_PER_S),
            "busy_ratio": warehouse.busy_ratio,
            "clock_tolerance_ns": round(warehouse.clock_tolerance_s * NS_PER_S),
            "weights": warehouse.weights,
        },
    )


def _configuration(settings: Settings) -> str:
    figures = settings.model_dump_json(
        include={"task_key": True, "deployments": True, "warehouse": _THRESHOLDS}
    )
    models = [f"{model}{query(f'marts/{model.name}')}" for model in MODELS]
    return hashlib.sha256("\n".join([figures, engine_signals.text(), *models]).encode()).hexdigest()


_THRESHOLDS = {
    "settle_s",
    "task_timeout_s",
    "released_after_s",
    "sample_interval_s",
    "busy_ratio",
    "clock_tolerance_s",
    "weights",
}


def _is_new(cursor: DuckDBPyConnection, configuration: str) -> bool:
    last = last_refresh(cursor)
    return last is None or last.configuration != configuration


def _run(cursor: DuckDBPyConnection, model: Model) -> None:
    if model.unless_empty is not None and not _has_rows(cursor, model.unless_empty):
        return
    if model.scope != "temp":
        _empty(cursor, model.scope, model.name)
    cursor.execute(query(f"marts/{model.name}"))


def _has_rows(cursor: DuckDBPyConnection, table: str) -> bool:
    return cursor.execute(query("refresh/has_rows").format(table=table)).fetchone() is not None


def _empty(cursor: DuckDBPyConnection, scope: str, table: str) -> None:
    cursor.execute(query(f"refresh/empty_{scope}").format(table=table))
