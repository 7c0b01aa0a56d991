"""One card told by several sources is one card, paid once; sources with a rhythm of their own are heard."""

from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from taximeter.clock import NS_PER_S
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.rows import SAMPLES
from warehouse.testing import Store, store

START_NS = 1_790_000_100 * NS_PER_S  # a whole quarter-hour
UUID = "GPU-1111-2222"
OWN = Settings(
    deployments=[
        Deployment(
            name="own",
            gpus=Gpus(
                sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal(36), price_source="contract", uuids=[UUID]
            ),
        )
    ]
)
NVML = {"host": "node-1", "gpu_uuid": UUID, "bus_id": "00000000:3B:00.0", "source": "nvml"}
DCGM = {"host": "pod-7", "gpu_uuid": UUID, "bus_id": None, "source": "dcgm"}
SHORT_BUS = {**NVML, "host": "pod-8", "bus_id": "0000:3b:00.0", "source": "nvidia_smi"}


def told(
    key: dict[str, Any], seconds: range, metrics: dict[str, float] | None = None, **more: Any
) -> list[dict[str, Any]]:
    return [
        {
            **dict.fromkeys(SAMPLES.names),
            "tenant": "default",
            "gpu_name": "NVIDIA H100 80GB HBM3",
            "metric": metric,
            "t_ns": START_NS + second * NS_PER_S,
            "value": value,
            "simulated": False,
            **key,
            **more,
        }
        for second in seconds
        for metric, value in (metrics or {"util_ratio": 0.5, "memory_used_mib": 9e3}).items()
    ]


def load(warehouse: Store, *parts: list[dict[str, Any]]) -> None:
    for part in parts:
        warehouse.load({"samples": pa.Table.from_pylist(part, schema=SAMPLES)})


def ledger(warehouse: Store) -> dict[str, tuple[float, Decimal]]:
    warehouse.refresh(START_NS + 3_600 * NS_PER_S)
    assert warehouse.check_laws() == []
    rows = warehouse.sql(
        "select state, sum(gpu_ns) / 1e9, sum(cost_usd) from gpu_ledger group by state order by state"
    )
    return {state: (seconds, usd) for state, seconds, usd in rows}


def test_a_card_told_by_two_sources_is_paid_once(tmp_path: Path) -> None:
    """NVML on the node and DCGM in a pod tell the same card for 100 s: 100 GPU-seconds and one dollar."""
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(101)), told(DCGM, range(0, 101, 30)))
        found = ledger(warehouse)
        assert sum(seconds for seconds, _ in found.values()) == 100
        assert sum(usd for _, usd in found.values()) == 1
        assert warehouse.sql("select gpu_id, host, bus_id from gpus") == [
            (f"node-1/{UUID}/00000000:3B:00.0", "node-1", "00000000:3B:00.0")
        ]


def test_a_bus_is_one_place_however_it_is_spelled(tmp_path: Path) -> None:
    """Long and short domains, upper and lower case are one bus id."""
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(11)), told(SHORT_BUS, range(11)))
        ledger(warehouse)
        assert warehouse.sql("select count(*) from gpus") == [(1,)]


def test_masked_captures_that_share_a_uuid_stay_two_cards(tmp_path: Path) -> None:
    """One uuid at two buses is two cards, and so is a uuid of zeros on two hosts."""
    other = {**NVML, "bus_id": "00000000:AF:00.0"}
    zero = {**NVML, "gpu_uuid": "GPU-00000000-0000-0000-0000-000000000000"}
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(11)), told(other, range(11)))
        load(warehouse, told(zero, range(11)), told({**zero, "host": "node-2"}, range(11)))
        found = ledger(warehouse)
        assert warehouse.sql("select count(*) from gpus") == [(4,)]
        assert sum(seconds for seconds, _ in found.values()) == 40


def test_a_name_without_a_uuid_is_the_card_at_its_bus(tmp_path: Path) -> None:
    """A source that tells host and bus alone tells the card that another source named there."""
    nameless = {**NVML, "gpu_uuid": None, "bus_id": "0000:3b:00.0", "source": "other"}
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(11)), told(nameless, range(11)))
        ledger(warehouse)
        assert warehouse.sql("select gpu_uuid from gpus") == [(UUID,)]


def test_the_better_source_is_heard_and_the_other_fills_its_gaps(tmp_path: Path) -> None:
    """While NVML says idle, DCGM's busy figure is not heard; when NVML is silent, DCGM's is all there is."""
    idle, busy = {"util_ratio": 0.0, "memory_used_mib": 9e3}, {"util_ratio": 0.9}
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(101), idle), told(DCGM, range(0, 401, 10), busy))
        found = ledger(warehouse)
        # 0..100 s by NVML, then DCGM every 10 s: until that rhythm is known, two samples speak for 1 s each
        assert found["no_task"][0] == 100
        assert (found["unattributed"][0], found["unknown"][0]) == (282, 18)


def test_a_source_of_30_s_is_not_unknown_two_thirds_of_the_time(tmp_path: Path) -> None:
    """After its rhythm is known, samples half a minute apart speak for all the time between them."""
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(DCGM, range(0, 1_801, 30)))
        found = ledger(warehouse)
        assert found["unknown"][0] <= 2 * 30
        assert sum(seconds for seconds, _ in found.values()) == 1_800


def test_our_own_agent_is_not_heard_longer_than_the_setting_says(tmp_path: Path) -> None:
    """An agent that should look every second and looks every 30 leaves the rest unknown."""
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(NVML, range(0, 1_801, 30)))
        assert ledger(warehouse)["unknown"][0] == 1_800 - 60


def test_a_card_keeps_its_history_when_a_fuller_name_arrives(tmp_path: Path) -> None:
    """DCGM tells the card first, NVML names it better later: nothing of the first hour is lost or doubled."""
    with store(tmp_path, OWN) as warehouse:
        load(warehouse, told(DCGM, range(0, 101, 5)))
        warehouse.refresh(START_NS + 3_600 * NS_PER_S)
        load(warehouse, told(NVML, range(60, 201)))
        found = ledger(warehouse)
        assert sum(seconds for seconds, _ in found.values()) == 200
        assert warehouse.sql("select count(*), min(host) from gpus") == [(1, "node-1")]
        rebuilt = warehouse.sql("select * from gpu_ledger order by all")
        warehouse.sql("insert into dirty_times values (0, 4000000000000000000)")
        ledger(warehouse)
        assert warehouse.sql("select * from gpu_ledger order by all") == rebuilt


KEYS = [NVML, DCGM, SHORT_BUS, {**NVML, "gpu_uuid": None, "source": "other"}]


@settings(max_examples=5, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.integers(0, 900), st.integers(1, 60), st.integers(1, 40)),
        min_size=2,
        max_size=6,
    ),
    st.permutations(range(6)),
)
def test_what_is_held_depends_on_when_somebody_told_and_not_on_who_or_in_which_order(
    tmp_path_factory: pytest.TempPathFactory, parts: list[Any], order: list[int]
) -> None:
    """However sources are mixed and in whatever order they arrive, one card is held from first to last."""
    ranges = [range(first, first + count * step, step) for _, first, count, step in parts]
    samples = [told(key, seconds) for (key, *_), seconds in zip(parts, ranges, strict=True)]
    samples.append(told(NVML, range(1)))
    found = []
    for turn in (range(len(samples)), [number for number in order if number < len(samples)]):
        rest = [number for number in range(len(samples)) if number not in turn]
        with store(tmp_path_factory.mktemp("w"), OWN) as warehouse:
            first, *others = (*turn, *rest)
            load(warehouse, samples[first])
            warehouse.refresh(START_NS + 7_200 * NS_PER_S)
            load(warehouse, *(samples[number] for number in others))
            warehouse.refresh(START_NS + 7_200 * NS_PER_S)
            found.append(warehouse.sql("select * from gpu_ledger order by all"))
            assert warehouse.sql("select count(*) from gpus") == [(1,)]
            assert warehouse.check_laws() == []
    assert found[0] == found[1]
