"""The keeper and the refresh: what is done when, and what a failure may not do."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from taximeter.clock import NS_PER_S
from taximeter.errors import SettingsError
from taximeter.settings import Deployment, Gpus, Hold, Prices, Settings
from warehouse import keeper as keeping
from warehouse.keeper import Keeper
from warehouse.refresh import last_refresh
from warehouse.testing import StandingClock, Store, store, write_block

NOW_NS = 1_800_000_000 * NS_PER_S
SPAN = {"trace_id": ["a"], "span_id": ["1"], "start_ns": [NOW_NS], "end_ns": [NOW_NS + 1], "name": ["run"]}
SAMPLE = {"host": ["h"], "gpu_uuid": ["g"], "metric": ["up"], "t_ns": [NOW_NS], "value": [1.0]}


@pytest.fixture(name="warehouse")
def _warehouse(tmp_path: Path) -> Iterator[Store]:
    with store(tmp_path) as opened:
        opened.clock.stand_at(NOW_NS)
        yield opened


class Kept:
    """A keeper on a store, with what it said and the times of its refreshes."""

    def __init__(self, warehouse: Store) -> None:
        self.said: list[str] = []
        self.warehouse = warehouse
        self.clock = warehouse.clock
        self.keeper = Keeper(warehouse.connection, warehouse.settings, self.clock, self.said.append)
        self._sequence = 0

    def turn_after(self, seconds: float) -> int | None:
        """Let time pass, turn once, and tell the age of the figures in seconds."""
        self.clock.sleep(seconds)
        self.keeper.turn()
        with self.warehouse.connection.cursor() as cursor:
            last = last_refresh(cursor)
        return None if last is None else round((self.clock.now_ns() - last.now_ns) / NS_PER_S)

    def send(self, **tables: dict[str, list[Any]]) -> None:
        arrow = {kind: pa.table(columns) for kind, columns in tables.items()}
        write_block(self.warehouse.folder, "j", self._sequence, arrow)
        self._sequence += 1


def test_spans_are_shown_at_once_and_samples_gather(warehouse: Store) -> None:
    """A span is in the figures with the turn that finds it; samples alone wait some seconds for company."""
    kept = Kept(warehouse)
    assert kept.turn_after(0) == 0
    kept.send(samples=SAMPLE)
    assert kept.turn_after(1) == 1
    assert kept.keeper.progress.is_behind
    kept.send(spans=SPAN)
    assert kept.turn_after(1) == 0
    assert not kept.keeper.progress.is_behind
    kept.send(samples=SAMPLE)
    assert kept.turn_after(1) == 1
    assert kept.turn_after(5) == 0


def test_a_flood_is_shown_when_it_is_over_or_after_ten_seconds(warehouse: Store) -> None:
    """While much arrives the figures wait for the rest of it, one second of quiet or ten of flood at most."""
    many = {key: values * keeping.FLOOD_ROWS for key, values in SPAN.items()}
    kept = Kept(warehouse)
    kept.turn_after(0)
    kept.send(spans=many)
    assert kept.turn_after(1) == 1
    assert kept.turn_after(1) == 0
    ages = []
    for _ in range(13):
        kept.send(spans=SPAN if ages else many)
        ages.append(kept.turn_after(0.9))

    assert ages.index(0) == 12


def test_time_passes_though_nothing_arrives(warehouse: Store) -> None:
    """Figures that only time changes are brought up to date every half minute."""
    kept = Kept(warehouse)
    ages = [kept.turn_after(10) for _ in range(7)]

    assert ages == [0, 10, 20, 0, 10, 20, 0]


def test_a_failed_refresh_is_told_once_and_stops_no_load(
    warehouse: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While a refresh fails blocks are still loaded; the failure shows until it is mended."""
    settings = warehouse.settings.model_copy(update={"prices": Prices(file=Path("missing.yaml"))})
    warehouse.settings = settings
    kept = Kept(warehouse)
    for _ in range(3):
        kept.send(spans=SPAN)
        kept.turn_after(60)

    assert warehouse.sql("select count(*) from spans") == [(3,)]
    assert len(kept.said) == 1
    assert "missing.yaml" in kept.said[0]
    assert kept.keeper.progress.failure is not None

    monkeypatch.setattr(kept.keeper, "_settings", Settings(data=settings.data))
    assert kept.turn_after(1) == 0
    assert kept.keeper.progress.failure is None


def test_a_failed_refresh_changes_nothing(warehouse: Store) -> None:
    """A refresh is whole or not at all: its marks stay for the next one."""
    warehouse.load({"spans": pa.table(SPAN)})
    warehouse.refresh(NOW_NS)
    warehouse.load({"spans": pa.table(SPAN | {"trace_id": ["b"]})})
    good, warehouse.settings = (
        warehouse.settings,
        warehouse.settings.model_copy(update={"prices": Prices(file=Path("missing.yaml"))}),
    )
    with pytest.raises(SettingsError):
        warehouse.refresh(NOW_NS + NS_PER_S)
    assert warehouse.sql("select now_ns from refreshes") == [(NOW_NS,)]
    assert warehouse.sql("from dirty_traces") == [("b",)]

    warehouse.settings = good
    warehouse.refresh(NOW_NS + NS_PER_S)
    assert warehouse.sql("from dirty_traces") == []


def test_a_database_that_closed_itself_ends_the_keeper(
    warehouse: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a fatal error of the database nothing helps but opening it again, so the program must end."""

    def fail(*_: object) -> None:
        raise duckdb.FatalException

    monkeypatch.setattr(keeping, "refresh", fail)
    with pytest.raises(duckdb.FatalException):
        Kept(warehouse).turn_after(0)


def test_a_broken_law_is_told_once_and_shown_in_health(warehouse: Store) -> None:
    """Figures that break a law are told of when they begin to, and fail their check in health."""
    kept = Kept(warehouse)
    kept.turn_after(0)
    assert kept.said == []
    assert _health(warehouse, "law:")
    assert {row["status"] for row in _health(warehouse, "law:")} == {"ok"}

    warehouse.connection.execute(
        "insert into gpu_ledger values (0, 'g', null, 'a state nobody knows', null, 'measured', -1, null)"
    )
    for _ in range(2):
        kept.turn_after(3_600)
    broken = [row["check"] for row in _health(warehouse, "law:") if row["status"] == "fail"]
    assert broken
    assert len(kept.said) == len(broken)
    assert len(warehouse.check_laws()) == len(broken)


def test_health_of_an_empty_warehouse_is_unknown_not_ok(warehouse: Store) -> None:
    """Before anything was measured no check says ok for what it cannot know."""
    for check in (
        "ingest_lag",
        "refresh_age",
        "last_span",
        "last_sample",
        "unpriced_ratio",
        "unplaced_s",
    ):
        assert _health(warehouse, check) == [
            _health(warehouse, check)[0] | {"status": "unknown", "value": None}
        ]


def test_health_tells_what_is_wrong(warehouse: Store) -> None:
    """Old blocks, quarantine, refusals, unknown dialects and simulated rows each show in their check."""
    warehouse.load(
        {
            "spans": pa.table(SPAN | {"dialect": ["unknown"], "simulated": [True]}),
            "samples": pa.table(SAMPLE | {"simulated": [True]}),
            "refused": pa.table({"reason": ["negative"]}),
        }
    )
    (warehouse.folder.quarantine / "j-000000000009").mkdir()
    waiting = write_block(warehouse.folder, "later", 0, {})
    warehouse.refresh(waiting.stat().st_mtime_ns + 120 * NS_PER_S)
    health = {row["check"]: (row["status"], row["value"]) for row in warehouse.report("health").to_pylist()}

    assert health["ingest_lag"] == ("fail", 120)
    assert health["blocks_waiting"] == ("ok", 1)
    assert health["blocks_quarantined"] == ("warn", 1)
    assert health["refused_rows"] == ("warn", 1)
    assert health["spans:unknown"] == ("ok", 1)
    assert health["simulated_rows"] == ("warn", 2)
    assert health["refresh_age"] == ("ok", 0)


def test_deployments_become_rows_and_a_change_computes_everything_again(tmp_path: Path) -> None:
    """The settings' deployments are tables; when they change every trace and all time is computed again."""
    hold = Hold.model_validate({"from": "2027-01-01T00:00:00Z", "to": None})
    gpus = Gpus(sku="H100-SXM", count=2, uuids=["u1", "u2"], held=[hold], usd_per_gpu_hour="3.99")
    deployment = Deployment(name="qwen", models=["Qwen/*"], addresses=["10.0.3.7:8000"], gpus=gpus)
    with store(tmp_path) as warehouse:
        warehouse.load({"spans": pa.table(SPAN)})
        warehouse.refresh(NOW_NS)
        before = warehouse.sql("select configuration from refreshes")
        assert warehouse.sql("from deployments") == []
    with store(tmp_path, Settings(deployments=[deployment])) as warehouse:
        warehouse.refresh(NOW_NS)

        assert warehouse.sql("select deployment, sku, gpus, usd_per_gpu_hour::varchar from deployments") == [
            ("qwen", "H100-SXM", 2, "3.990000")
        ]
        assert warehouse.sql("from deployment_names order by all") == [
            ("qwen", "address", "10.0.3.7:8000"),
            ("qwen", "model", "Qwen/*"),
        ]
        assert warehouse.sql("from deployment_gpus order by all") == [("qwen", 0, "u1"), ("qwen", 1, "u2")]
        assert warehouse.sql("from deployment_holds") == [("qwen", 1_798_761_600 * NS_PER_S, None)]
        assert warehouse.sql("select configuration from refreshes") != before


def test_an_open_task_times_out_by_time_alone(tmp_path: Path) -> None:
    """A task that lacks a span is open, and closes when its time is up though nothing arrives."""
    child = SPAN | {
        "parent_span_id": ["missing"],
        "dialect": ["otel_genai"],
        "role": ["llm"],
        "status": ["ok"],
    }
    with store(tmp_path) as warehouse:
        warehouse.load({"spans": pa.table(child | {"received_ns": [NOW_NS]})})
        warehouse.refresh(NOW_NS + NS_PER_S)
        early = warehouse.sql("select is_open from task_tokens")
        warehouse.refresh(NOW_NS + 3_600 * NS_PER_S)
        late = warehouse.sql("select is_open from task_tokens")

    assert (early, late) == ([(True,)], [(False,)])


def test_a_young_task_settles_by_time_alone(tmp_path: Path) -> None:
    """A task is provisional while late spans may come, and no longer when they may not."""
    root = SPAN | {"dialect": ["otel_genai"], "role": ["llm"], "status": ["ok"], "received_ns": [NOW_NS]}
    with store(tmp_path) as warehouse:
        warehouse.load({"spans": pa.table(root)})
        warehouse.refresh(NOW_NS + NS_PER_S)
        early = warehouse.sql("select provisional from tasks")
        warehouse.refresh(NOW_NS + 7_200 * NS_PER_S)
        late = warehouse.sql("select provisional from tasks")

    assert (early, late) == ([(True,)], [(False,)])


def test_a_clock_that_goes_back_harms_nothing(warehouse: Store) -> None:
    """A refresh at an earlier instant than the one before works and marks no time backwards."""
    warehouse.load({"spans": pa.table(SPAN), "samples": pa.table(SAMPLE)})
    warehouse.refresh(NOW_NS + 60 * NS_PER_S)
    warehouse.refresh(NOW_NS)

    assert warehouse.sql("select now_ns from refreshes") == [(NOW_NS,)]
    assert warehouse.check_laws() == []


def _health(warehouse: Store, prefix: str) -> list[dict[str, Any]]:
    rows = warehouse.report("health").to_pylist()
    return [row for row in rows if row["check"].startswith(prefix)]


def test_the_standing_clock_stands_exactly() -> None:
    """The store's clock keeps every nanosecond it is put to."""
    clock = StandingClock()
    clock.stand_at(NOW_NS + 1)

    assert clock.now_ns() == NOW_NS + 1
