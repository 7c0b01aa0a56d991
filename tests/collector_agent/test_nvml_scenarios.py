"""The real sampler and the real pynvml over a driver library that does what real ones were seen to do."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest

from collector.agent.testing import Replayed, card_line

Replay = Callable[..., Replayed]
GPU0 = card_line(0, "GPU-a")
GPU1 = card_line(1, "GPU-b")
BUSY = "util=87 memutil=40 used=70000 procs=4242:69000,4343:1000"


def test_idle_card_is_measured_and_its_reserve_is_not_its_use(replay: Replay) -> None:
    """An empty card has 0 busy, 0 used beside its reserve, 0 processes: all measured, none missing."""
    run = replay(GPU0)
    figures = {s.metric: s.value for s in run.samples}
    assert figures == {
        "up": 1,
        "util_ratio": 0,
        "memory_util_ratio": 0,
        "memory_used_mib": 0,
        "memory_total_mib": 81559,
        "memory_reserved_mib": 480,
        "power_w": 68.6,
        "power_limit_w": 700,
        "energy_j": 5,
        "processes": 0,
    }
    assert {(s.uuid, s.bus_id, s.index, s.name) for s in run.samples} == {
        ("GPU-a", "00000000:01:00.0", 0, "Test-H100")
    }
    assert run.told == []


def test_burst_is_seen_at_its_seconds_and_lists_are_asked_seldom(replay: Replay) -> None:
    """Busy figures follow every tick, process lists every fifth, facts come once."""
    run = replay(GPU0, f"3000 0 {BUSY}", "6000 0 util=0", seconds=10)
    assert [v for _, v in run.values("GPU-a", "util_ratio")] == [0, 0, 0, 0.87, 0.87, 0.87, 0, 0, 0, 0, 0]
    assert run.values("GPU-a", "processes") == [(0, 0), (5, 2), (10, 2)]
    held = {s.pid: s.value for s in run.samples if s.metric == "process_memory_mib" and s.t_s == 5}
    assert held == {4242: 69000, 4343: 1000}
    assert run.values("GPU-a", "memory_total_mib") == [(0, 81559)]


def test_memory_that_a_process_does_not_tell_is_not_zero(replay: Replay) -> None:
    """A process whose memory the driver does not tell counts, and has no memory figure."""
    run = replay(GPU0, "0 0 used=500 procs=77:-")
    assert run.values("GPU-a", "processes") == [(0, 1)]
    assert run.values("GPU-a", "process_memory_mib") == []


def test_cut_card_has_no_utilization_and_no_empty_process_list(replay: Replay) -> None:
    """A MIG parent answers neither its utilization nor, unprivileged, its processes: unknown, not idle."""
    run = replay(GPU0, "0 0 mig=1 fail.nvmlDeviceGetUtilizationRates=3", seconds=6)
    assert run.metrics("GPU-a") == {
        "up",
        "memory_used_mib",
        "memory_total_mib",
        "memory_reserved_mib",
        "power_w",
        "power_limit_w",
        "energy_j",
    }
    assert len(run.told) == 1
    assert "utilization is unknown" in run.told[0]


def test_unsupported_field_is_asked_again_after_a_minute(replay: Replay) -> None:
    """A field that a card refuses comes back by itself once the card supports it."""
    run = replay(
        GPU0,
        "0 0 fail.nvmlDeviceGetPowerUsage=3",
        "30000 0 fail.nvmlDeviceGetPowerUsage=0",
        seconds=61,
    )
    assert run.values("GPU-a", "power_w") == [(60, 68.6), (61, 68.6)]


@pytest.mark.parametrize("code", [15, 16])
def test_lost_card_is_down_and_hides_no_other(replay: Replay, code: int) -> None:
    """A card lost mid-run says up 0 and nothing else, the others go on, and it is found when it returns."""
    run = replay(GPU0, GPU1, f"2000 0 fail.all={code}", "15000 0 fail.all=0", seconds=24)
    up = dict(run.values("GPU-a", "up"))
    assert [up[t] for t in range(25)] == [1, 1, *[0] * 20, 1, 1, 1]
    assert [t for t, _ in run.values("GPU-a", "util_ratio")] == [0, 1, 22, 23, 24]
    assert [v for _, v in run.values("GPU-b", "up")] == [1] * 25
    assert [t for t, _ in run.values("GPU-a", "memory_total_mib")] == [0, 22]
    assert len([line for line in run.told if "is lost" in line]) == 1


def test_card_that_vanishes_from_the_list_is_lost(replay: Replay) -> None:
    """A card that the driver stops listing is still billed: it is reported as lost, not forgotten."""
    run = replay(GPU0, GPU1, "2000 * order=1", seconds=4)
    assert [v for _, v in run.values("GPU-a", "up")] == [1, 1, 0, 0]
    assert [v for _, v in run.values("GPU-b", "up")] == [1, 1, 1, 1]


def test_other_order_moves_no_figure_to_another_card(replay: Replay) -> None:
    """When the driver renumbers its cards, figures stay with their uuid and only the index changes."""
    run = replay(GPU0, GPU1, "0 0 util=90", "2000 * order=1,0", seconds=5)
    assert {v for _, v in run.values("GPU-a", "util_ratio")} == {0.9}
    assert {v for _, v in run.values("GPU-b", "util_ratio")} == {0}
    assert {s.index for s in run.samples if s.uuid == "GPU-a" and s.t_s >= 3} == {1}
    assert len(run.values("GPU-a", "util_ratio")) == 5


def test_energy_counter_that_falls_back_is_handed_on_as_it_is(replay: Replay) -> None:
    """A reset of the energy counter stays visible: nothing is added, nothing is made negative."""
    run = replay(GPU0, "1000 0 energy=9000", "2000 0 energy=100", seconds=2)
    assert run.values("GPU-a", "energy_j") == [(0, 5), (1, 9), (2, 0.1)]


@pytest.mark.parametrize("how", ["total=0 reserved=0", "fail.nvmlDeviceGetMemoryInfo_v2=3"])
def test_shared_memory_is_what_the_processes_hold(replay: Replay, how: str) -> None:
    """A card that shares the machine's memory says 0 of 0 or refuses: its use is its processes', no total."""
    run = replay(GPU0, f"0 0 {how} util=50 procs=9:3000")
    assert not run.metrics("GPU-a") & {"memory_total_mib", "memory_reserved_mib"}
    assert run.values("GPU-a", "memory_used_mib") == [(0, 3000)]
    assert run.values("GPU-a", "util_ratio") == [(0, 0.5)]
    assert run.values("GPU-a", "process_memory_mib") == [(0, 3000)]


def test_latched_counter_is_handed_on_with_what_contradicts_it(replay: Replay) -> None:
    """100 % busy at idle power with no process is reported as measured: to judge it takes all three."""
    run = replay(GPU0, "0 0 util=100 power=100000")
    assert run.values("GPU-a", "util_ratio") == [(0, 1)]
    assert run.values("GPU-a", "processes") == [(0, 0)]
    assert run.values("GPU-a", "power_w") == [(0, 100)]


def test_processes_that_we_may_not_see_are_unknown(replay: Replay) -> None:
    """An empty process list beside gigabytes in use is another container's work, not an empty card."""
    run = replay(GPU0, "0 0 used=40000")
    assert run.values("GPU-a", "processes") == []
    assert run.values("GPU-a", "memory_used_mib") == [(0, 40000)]


def test_old_driver_gives_what_it_can(replay: Replay) -> None:
    """Without the newer calls, processes come from the older list; use mixed with reserve is unknown."""
    old = "fail.nvmlDeviceGetMemoryInfo_v2=13 fail.nvmlDeviceGetComputeRunningProcesses_v3=13"
    run = replay(GPU0, f"0 0 {old} used=100 procs=5:100")
    assert run.values("GPU-a", "processes") == [(0, 1)]
    assert run.values("GPU-a", "memory_total_mib") == [(0, 81559)]
    assert run.values("GPU-a", "memory_used_mib") == []


def test_zero_power_and_impossible_load_are_no_readings(replay: Replay) -> None:
    """A card that claims to draw nothing, or to be busy beyond 100 %, gave no reading."""
    run = replay(GPU0, "0 0 power=0 util=300")
    assert not run.metrics("GPU-a") & {"power_w", "util_ratio"}
    assert run.values("GPU-a", "up") == [(0, 1)]


def test_failing_call_is_asked_with_growing_pauses(replay: Replay) -> None:
    """A passing error costs that field some ticks, never the card."""
    run = replay(
        GPU0,
        "0 0 fail.nvmlDeviceGetUtilizationRates=999",
        "4000 0 fail.nvmlDeviceGetUtilizationRates=0",
        seconds=9,
    )
    assert [t for t, _ in run.values("GPU-a", "util_ratio")] == [7, 8, 9]
    assert len(run.values("GPU-a", "up")) == 10


def test_silent_card_is_neither_up_nor_lost(replay: Replay) -> None:
    """A card whose every call fails in passing has no `up`: nobody said that it is lost."""
    run = replay(GPU0, GPU1, "1000 0 fail.all=999", seconds=1)
    assert run.values("GPU-a", "up") == [(0, 1)]
    assert run.values("GPU-b", "up") == [(0, 1), (1, 1)]


def test_replaced_driver_ends_the_agent_loudly(replay: Replay) -> None:
    """A driver that was upgraded under us is told as such: there is no figure until the machine restarts."""
    run = replay(GPU0, "2000 0 fail.all=18", seconds=5)
    assert run.error == "DriverMismatchError"
    assert "restart" in run.text
    assert {s.t_s for s in run.samples} == {0, 1}
    assert replay(GPU0, "0 * init=18").error == "DriverMismatchError"


def test_unloaded_driver_is_a_normal_answer(replay: Replay) -> None:
    """A library without a loaded driver means: nothing to sample here."""
    run = replay(GPU0, "0 * init=9")
    assert (run.error, run.samples) == ("NoDriverError", [])


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("c_nvmlUtilization_t", 8),
        ("c_nvmlMemory_t", 24),
        ("c_nvmlMemory_v2_t", 40),
        ("c_nvmlProcessInfo_v2_t", 24),
        ("c_nvmlProcessInfo_v3_t", 24),
        ("nvmlPciInfo_t", 68),
    ],
)
def test_structs_of_pynvml_are_those_of_the_header(library: Path, name: str, size: int) -> None:
    """The sizes that the compiler asserted for the real header are those that pynvml reads with."""
    assert library.exists()
    assert ctypes.sizeof(getattr(pynvml, name)) == size
