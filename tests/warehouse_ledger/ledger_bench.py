"""A warehouse whose steps are put in by hand, so that the ledger's models run alone."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from ledger_world import FOREVER, Step, World

from taximeter.settings import Deployment, Settings
from warehouse import config_rows, refresh, skus
from warehouse.models import LEDGER_MODELS
from warehouse.testing import Store, store

OUTPUTS = (
    "gpus",
    "gpu_holds",
    "gpu_rates",
    "gpu_timeline",
    "gpu_ledger",
    "step_gpu",
    "task_waits",
    "unplaced_steps",
    "deployment_concurrency",
    "concurrency_bands",
)
KEPT = (
    "gpu_seen",
    "gpu_keys",
    "gpu_servings",
    "concurrency_days",
    "host_offsets",
    "engine_limits",
    "tasks",
)
INPUTS = ("steps", "task_tokens", "samples", "gpu_prices", "dirty_times")


class Bench:
    """One open warehouse; worlds are put in and the ledger is computed."""

    def __init__(self, opened: Store) -> None:
        self.store = opened
        self.connection = opened.connection

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        return self.store.sql(query)

    def laws(self) -> list[str]:
        return [line for line in self.store.check_laws() if line.startswith("ledger_")]

    def empty(self) -> None:
        for table in (*INPUTS, *OUTPUTS, *KEPT):
            self.connection.execute(f"delete from {table}")  # noqa: S608 - our own names

    def put(self, world: World) -> None:
        """Replace all inputs by a world; figures stay until `compute`."""
        for table in ("steps", "task_tokens", "samples", "gpu_prices"):
            self.connection.execute(f"delete from {table}")  # noqa: S608 - our own names
        self._insert("steps", [_step(step) for step in world.steps])
        self._insert("task_tokens", _tasks(world.steps))
        self._insert("samples", _samples(world))
        self._insert("gpu_prices", _prices(world))

    def compute(
        self, world: World, tasks: set[str] | None = None, times: list[tuple[int, int]] | None = None
    ) -> None:
        """Run the ledger's models: for everything, or for what is said to have changed."""
        settings = _settings(world)
        with self.connection.cursor() as cursor:
            cursor.begin()
            refresh._set(cursor, settings, world.now)
            config_rows.write(cursor, settings)
            for fleet in world.fleets:  # settings know microseconds, tests need nanoseconds
                for start, end in fleet.held:
                    cursor.execute("insert into deployment_holds values (?, ?, ?)", [fleet.name, start, end])
            cursor.execute("delete from dirty_times")
            for stretch in [(0, world.now)] if times is None else times:
                cursor.execute("insert into dirty_times values (?, ?)", stretch)
            touched = {step.task for step in world.steps} if tasks is None else tasks
            cursor.execute("create or replace temp table touched_tasks (task_id varchar)")
            for task in sorted(touched):
                cursor.execute("insert into touched_tasks values (?)", [task])
            skus.prepare(cursor)
            for model in LEDGER_MODELS:
                refresh._run(cursor, model)
            cursor.execute("delete from tasks")  # what the models after the ledger leave for the next refresh
            cursor.execute(
                "insert into tasks by name select * exclude (is_open, answer_step_id, first_step_id),"
                " false as provisional from task_tokens"
            )
            cursor.commit()

    def outputs(self) -> dict[str, list[tuple[Any, ...]]]:
        return {table: self.sql(f"select * from {table} order by all") for table in OUTPUTS}  # noqa: S608

    def _insert(self, table: str, rows: list[dict[str, Any]]) -> None:
        if rows:
            self.connection.register("put_in", pa.Table.from_pylist(rows))
            self.connection.execute(f"insert into {table} by name select * from put_in")  # noqa: S608
            self.connection.unregister("put_in")


@contextmanager
def open_bench(path: Path) -> Iterator[Bench]:
    with store(path) as opened:
        yield Bench(opened)


def _settings(world: World) -> Settings:
    cards = sorted(world.cards, key=lambda card: (card.deployment or "", card.slot))
    return Settings(
        deployments=[
            Deployment.model_validate(
                {
                    "name": fleet.name,
                    "concurrency": fleet.concurrency,
                    "gpus": {
                        "sku": fleet.sku,
                        "count": fleet.cards,
                        "per_replica": fleet.per_replica,
                        "uuids": [card.uuid for card in cards if card.deployment == fleet.name],
                    },
                }
            )
            for fleet in world.fleets
        ],
        warehouse={
            "sample_interval_s": world.interval / 1e9,
            "clock_tolerance_s": world.tolerance / 1e9,
            "released_after_s": world.released_after // 10**9,
            "busy_ratio": world.busy_ratio,
            "weights": world.weights,
        },
    )


def _step(step: Step) -> dict[str, Any]:
    return {
        "task_id": step.task,
        "step_id": step.name,
        "trace_id": step.task,
        "span_id": step.name,
        "start_ns": step.start,
        "end_ns": step.end,
        "busy_start_ns": step.busy[0] if step.busy else None,
        "busy_end_ns": step.busy[1] if step.busy else None,
        "kind": step.kind,
        "name": step.name,
        "tool_name": step.tool if step.kind in {"tool", "retrieval"} else None,
        "deployment": step.deployment,
        "replica": step.replica,
        "status": "ok",
        "attempt": 1,
        "attempts": 1,
        "counted": True,
        "is_leaf": True,
        "waits_for_person": step.person,
        "token_provenance": "unknown",
        "input_tokens": step.tokens[0] if step.tokens else None,
        "cache_read_tokens": step.tokens[1] if step.tokens else None,
        "output_tokens": step.tokens[2] if step.tokens else None,
        "work_ns": step.work,
        "simulated": False,
    }


def _tasks(steps: list[Step]) -> list[dict[str, Any]]:
    counts = dict.fromkeys(
        ("steps", "rounds", "llm_calls", "llm_attempts", "retries", "tool_calls", "tool_retries", "loops"), 0
    )
    return [
        {
            "task_id": task,
            "trace_ids": [task],
            "status": "ok",
            "start_ns": min(step.start for step in steps if step.task == task),
            "end_ns": max(step.end for step in steps if step.task == task),
            "is_open": False,
            "simulated": False,
            **counts,
        }
        for task in sorted({step.task for step in steps})
    ]


def _samples(world: World) -> list[dict[str, Any]]:
    return [
        {
            "host": card.host,
            "gpu_uuid": card.uuid,
            "bus_id": str(card.index),
            "gpu_index": card.index,
            "gpu_name": card.name,
            "source": "nvml",
            "metric": metric,
            "t_ns": t,
            "value": value,
            "simulated": card.simulated,
            "journal": "test",
            "sequence": 0,
            "decoder_version": 1,
        }
        for card in world.cards
        for t, seen in card.samples
        for metric, value in seen.items()
    ]


def _prices(world: World) -> list[dict[str, Any]]:
    return [
        {
            "sku": fleet.sku,
            "provider": "test",
            "kind": "on_demand",
            "usd_per_gpu_hour": f"{price / 1_000_000:.6f}",
            "from_ns": start,
            "source": "test",
            "is_default": True,
            "is_user_row": True,
        }
        for fleet in world.fleets
        for start, end, price in fleet.prices
        if start < FOREVER
    ]


__all__ = ["Bench", "open_bench"]
