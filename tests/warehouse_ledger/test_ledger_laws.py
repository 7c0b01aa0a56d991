"""The laws are quiet on a right ledger and loud on a wrong one."""

from functools import reduce

import pytest
from ledger_bench import Bench
from ledger_world import World, random_world

from warehouse.laws import check_laws

MUTATIONS = {
    "a state is dropped": ("delete from gpu_ledger where state = 'no_task'", "ledger_held"),
    "a state is doubled": (
        "insert into gpu_ledger select * from gpu_ledger where state = 'serving'",
        "ledger_held",
    ),
    "two prices are swapped": ("update gpu_rates set usd_per_hour = usd_per_hour + 1", "ledger_bill"),
    "a bill is off by the smallest unit": (
        "update gpu_ledger set cost_usd = cost_usd + 0.000000000001 where state = 'serving'",
        "ledger_bill",
    ),
    "unknown money becomes nothing": (
        "update gpu_ledger set cost_usd = 0 where cost_usd is null",
        "ledger_bill",
    ),
    "a step is left out": (
        "delete from step_gpu where step_id in (from first_paid)",
        "ledger_shares",
    ),
    "a step is shifted to another quarter-hour": (
        "update step_gpu set quarter_ns = quarter_ns + 900000000000 where step_id in (from first_paid)",
        "ledger_shares",
    ),
    "a wait is doubled": ("insert into task_waits select * from task_waits", "ledger_shares"),
    "a stretch of the time line is moved": (
        "update gpu_timeline set to_ns = to_ns + 1 where state = 'serving'",
        "ledger_timeline",
    ),
    "a state has no known name": (
        "update gpu_ledger set state = 'idle' where state = 'spare'",
        "ledger_words",
    ),
    "a band makes time": (
        "update concurrency_bands set gpu_ns = gpu_ns + 1 where band = 'half'",
        "ledger_bands",
    ),
    "a band is lost": ("delete from concurrency_bands where state = 'serving'", "ledger_bands"),
    "time runs backwards": ("update task_waits set gpu_ns = -gpu_ns", "ledger_words"),
    "a wait has no cause": ("update gpu_ledger set cause = null where state = 'tool_wait'", "ledger_words"),
}


@pytest.fixture
def booked(bench: Bench) -> Bench:
    bench.put(world := reduce(World.plus, (random_world(place, place) for place in range(12))))
    bench.compute(world)
    return bench


def test_each_wrong_turn_breaks_a_law(booked: Bench) -> None:
    """Every mutation of a right ledger turns the law that watches over it red."""
    with booked.connection.cursor() as cursor:
        cursor.execute("create temp table first_paid as select min(step_id) from step_gpu where gpu_ns > 0")
        assert not any(
            table.num_rows for law, table in check_laws(cursor).items() if law.startswith("ledger_")
        )
        for what, (mutation, law) in MUTATIONS.items():
            cursor.begin()
            cursor.execute(mutation)
            assert check_laws(cursor)[law].num_rows, what
            cursor.rollback()
