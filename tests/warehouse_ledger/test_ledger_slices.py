"""Cards cut into slices (MIG): each slice costs its sevenths, what nobody took is one more row."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taximeter.clock import NS_PER_S
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.rows import SAMPLES
from warehouse.testing import Store, store
from warehouse.testing_rows import llm, spans

START_NS = 1_790_000_100 * NS_PER_S  # a whole quarter-hour
CARD = {"host": "n", "gpu_uuid": "GPU-1", "bus_id": "00000000:01:00.0", "source": "nvml"}
IDLE = {"up": 1.0, "util_ratio": 0.0, "memory_used_mib": 9_000.0}
USD = Decimal(36)  # a cent a second


def own(*uuids: str) -> Settings:
    gpus = Gpus(
        sku="H100-SXM", count=len(uuids), usd_per_gpu_hour=USD, price_source="contract", uuids=list(uuids)
    )
    return Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus)])


def told(key: dict[str, Any], seconds: range, metrics: dict[str, float]) -> pa.Table:
    rows = [
        {
            **dict.fromkeys(SAMPLES.names),
            "gpu_name": "NVIDIA H100 80GB HBM3",
            "metric": metric,
            "t_ns": START_NS + second * NS_PER_S,
            "value": value,
            "simulated": False,
            **key,
        }
        for second in seconds
        for metric, value in metrics.items()
    ]
    return pa.Table.from_pylist(rows, schema=SAMPLES)


def cut(name: str, slices: int | None, **more: Any) -> dict[str, Any]:
    return {**CARD, "gpu_uuid": name, "parent_uuid": "GPU-1", "slices": slices, **more}


def bill(warehouse: Store, *tables: pa.Table) -> dict[tuple[str, str], tuple[float, Decimal | None]]:
    """Give seconds and money by uuid and state, laws held."""
    for table in tables:
        warehouse.load({"samples": table})
    warehouse.refresh(START_NS + 7_200 * NS_PER_S)
    assert warehouse.check_laws() == []
    rows = warehouse.sql(
        "select gpu_uuid, state, sum(gpu_ns) / 1e9, sum(cost_usd), bool_or(cost_usd is null)"
        " from gpu_ledger inner join gpus using (gpu_id) group by all"
    )
    return {(uuid, state): (seconds, None if unknown else usd) for uuid, state, seconds, usd, unknown in rows}


def test_slices_and_what_they_leave_are_the_price_of_the_card(tmp_path: Path) -> None:
    """A 3/7 and a 2/7 slice on one card for 70 s: their sevenths, 2/7 unloaded, and 70 cents in all."""
    with store(tmp_path, own("MIG-a", "MIG-b", "GPU-1")) as warehouse:
        seconds = range(71)
        found = bill(
            warehouse,
            told(CARD, seconds, {"up": 1.0}),
            told(cut("MIG-a", 3), seconds, IDLE),
            told(cut("MIG-b", 2), seconds, IDLE),
        )
    money = {key: round(usd, 4) for key, (_, usd) in found.items() if usd is not None}
    assert money == {
        ("MIG-a", "no_task"): Decimal("0.3"),
        ("MIG-b", "no_task"): Decimal("0.2"),
        ("GPU-1", "unloaded"): Decimal("0.2"),
    }
    assert sum(usd for _, usd in found.values() if usd is not None) == Decimal("0.7")


def test_a_card_whose_slices_are_all_taken_is_no_row_of_its_own(tmp_path: Path) -> None:
    """Nothing is left of it: it is neither paid twice nor counted as waste."""
    with store(tmp_path, own("MIG-a", "MIG-b", "GPU-1")) as warehouse:
        seconds = range(71)
        found = bill(
            warehouse,
            told(CARD, seconds, {"up": 1.0}),
            told(cut("MIG-a", 3), seconds, IDLE),
            told(cut("MIG-b", 4), seconds, IDLE),
        )
    assert {uuid for uuid, _ in found} == {"MIG-a", "MIG-b"}


def test_a_card_that_is_cut_later_is_whole_before(tmp_path: Path) -> None:
    """For 70 s a whole card, then one slice of 7 sevenths less 4: each time has its own price."""
    with store(tmp_path, own("MIG-a", "GPU-1")) as warehouse:
        found = bill(
            warehouse,
            told(CARD, range(71), IDLE),
            told(CARD, range(71, 141), {"up": 1.0}),
            told(cut("MIG-a", 4), range(70, 141), IDLE),
        )
    assert found["GPU-1", "no_task"] == (70, Decimal("0.7"))
    assert found["MIG-a", "no_task"] == (70, pytest.approx(Decimal("0.4"), abs=Decimal("0.0001")))
    assert found["GPU-1", "unloaded"] == (70, pytest.approx(Decimal("0.3"), abs=Decimal("0.0001")))


def test_a_slice_that_does_not_tell_its_size_has_no_price(tmp_path: Path) -> None:
    """Neither it nor what it leaves of the card has a price: unknown, not zero and not the whole card's."""
    with store(tmp_path, own("MIG-a", "GPU-1")) as warehouse:
        found = bill(warehouse, told(CARD, range(71), {"up": 1.0}), told(cut("MIG-a", None), range(71), IDLE))
    assert found["MIG-a", "no_task"][1] is None
    assert found["GPU-1", "unloaded"][1] is None


def test_slices_told_by_two_sources_count_once(tmp_path: Path) -> None:
    """dcgm-exporter numbers the instances that the driver names: the named ones are paid, once."""
    numbered = cut("GPU-1/gi-3", 3, source="dcgm", host="pod", bus_id=None)
    with store(tmp_path, own("MIG-a", "GPU-1")) as warehouse:
        seconds = range(71)
        found = bill(
            warehouse,
            told(CARD, seconds, {"up": 1.0}),
            told(cut("MIG-a", 3), seconds, IDLE),
            told(numbered, seconds, IDLE),
        )
    assert {uuid for uuid, _ in found} == {"MIG-a", "GPU-1"}
    assert round(sum(usd for _, usd in found.values() if usd is not None), 4) == Decimal("0.7")


def test_a_slice_without_load_figures_is_unknown(tmp_path: Path) -> None:
    """Before Hopper nothing tells a slice's load: its time is unknown, and paid."""
    with store(tmp_path, own("MIG-a", "GPU-1")) as warehouse:
        metrics = {"up": 1.0, "memory_used_mib": 9_000.0}
        found = bill(warehouse, told(CARD, range(71), {"up": 1.0}), told(cut("MIG-a", 3), range(71), metrics))
    assert found["MIG-a", "unknown"][0] == 70


def test_a_step_on_a_slice_pays_the_slice(tmp_path: Path) -> None:
    """Ten seconds of serving on 3/7 of a card at a cent a second cost 3/7 of ten cents."""
    with store(tmp_path, own("MIG-a")) as warehouse:
        from_s = START_NS / NS_PER_S - 1_790_000_000
        warehouse.load(spans(llm("chat", from_s + 20, from_s + 30, tokens=(10, 1), model_requested="own")))
        bill(warehouse, told(CARD, range(71), {"up": 1.0}), told(cut("MIG-a", 3), range(71), IDLE))
        (row,) = warehouse.report("tasks").to_pylist()
    assert row["gpu_cost_usd"] == pytest.approx(Decimal(10) * 3 / 7 / 100, abs=Decimal("0.0001"))
