"""What newer drivers tell beyond the basics, by the real pynvml: bursts, counters, slices, faults, hangs."""

import ctypes
from collections.abc import Callable
from pathlib import Path

import pynvml
import pytest

from collector.agent.testing import Replayed, card_line

Replay = Callable[..., Replayed]
GPU0 = card_line(0, "GPU-a")
GPU1 = card_line(1, "GPU-b")
CUT = f"{GPU0} mig=1 gpm=1"
SLICE = "0 8 parent=0 uuid=MIG-x gi=3 slices=2 total=20000 used=500 procs=77:400 sm=40 graphics=80"


def test_a_burst_between_two_looks_is_seen(replay: Replay) -> None:
    """300 ms of work between two looks 10 s apart is in the mean of those 10 s, and its peak is told."""
    run = replay(GPU0, "22300 0 util=100", "22600 0 util=0", seconds=30, interval_s=10, how="deep")
    ratio, peak = dict(run.values("GPU-a", "util_ratio")), dict(run.values("GPU-a", "util_max_ratio"))
    assert ratio[30] == pytest.approx(0.03, abs=0.02)
    assert ratio[30] > 0
    assert (ratio[20], peak[20], peak[30]) == (0, 0, 1)


def test_after_a_gap_a_sample_speaks_for_one_interval(replay: Replay) -> None:
    """Work of long ago is not laid on the second that the sample after a gap speaks for."""
    lines = (GPU0, "2000 0 fail.nvmlDeviceGetUtilizationRates=999", "2000 0 util=100", "20000 0 util=0")
    run = replay(*lines, "30000 0 fail.nvmlDeviceGetUtilizationRates=0", seconds=70, how="deep")
    after = [(t, value) for t, value in run.values("GPU-a", "util_ratio") if t > 30]
    assert after[0][1] == 0


def test_a_driver_without_a_record_gives_its_latest_figure(replay: Replay) -> None:
    """Where no record is kept, the utilization of the last period is all there is."""
    run = replay(GPU0, "0 0 util=60 fail.nvmlDeviceGetSamples=3", seconds=3, how="deep")
    assert [value for _, value in run.values("GPU-a", "util_ratio")] == [0.6] * 4
    assert "util_max_ratio" not in run.metrics("GPU-a")


def test_hardware_counters_are_means_between_looks_and_given_back(replay: Replay) -> None:
    """Counters of a card that has them are compared look by look; every snapshot goes back to the driver."""
    run = replay(GPU0, "0 0 gpm=1 sm=30 tensor=20 dram=10 graphics=50", "2000 0 sm=90", seconds=4, how="deep")
    assert [value for _, value in run.values("GPU-a", "sm_active_ratio")] == pytest.approx(
        [0.3, 0.3, 0.9, 0.9]
    )
    assert run.values("GPU-a", "tensor_active_ratio")[0] == (1, pytest.approx(0.2))
    assert run.values("GPU-a", "dram_active_ratio")[0] == (1, pytest.approx(0.1))
    assert run.marks == 0


def test_a_card_without_counters_tells_none_and_nobody_is_bothered(replay: Replay) -> None:
    """Older cards have no such counters: the figures are absent, and that is no news."""
    run = replay(GPU0, seconds=3, how="deep")
    assert not run.metrics("GPU-a") & {"sm_active_ratio", "tensor_active_ratio", "dram_active_ratio"}
    assert run.told == []


def test_a_slice_is_a_row_of_its_own_and_its_parent_tells_no_load(replay: Replay) -> None:
    """A MIG instance has its own uuid, share, memory, processes and load; the cut card's load is unknown."""
    run = replay(CUT, SLICE, seconds=6, how="deep")
    assert {(s.parent_uuid, s.slices) for s in run.samples if s.uuid == "MIG-x"} == {("GPU-a", 2)}
    assert run.values("MIG-x", "memory_used_mib")[0] == (0, 500)
    assert run.values("MIG-x", "process_memory_mib")[0] == (0, 400)
    assert run.values("MIG-x", "util_ratio")[0] == (1, pytest.approx(0.8))
    assert run.values("MIG-x", "sm_active_ratio")[0] == (1, pytest.approx(0.4))
    assert "util_ratio" not in run.metrics("GPU-a")
    assert "power_w" not in run.metrics("MIG-x")


def test_a_slice_without_counters_is_unknown_and_not_idle(replay: Replay) -> None:
    """Before Hopper nothing tells a slice's load: there is no figure, above all no zero."""
    run = replay(f"{GPU0} mig=1", SLICE, seconds=3, how="deep")
    assert "util_ratio" not in run.metrics("MIG-x")
    assert [value for _, value in run.values("MIG-x", "up")] == [1] * 4


def test_a_slice_that_is_taken_away_is_gone_and_not_lost(replay: Replay) -> None:
    """Somebody removed the instance: it is held no more, and the card goes on."""
    run = replay(CUT, SLICE, "2000 8 gone=1", seconds=70, how="deep")
    assert {value for _, value in run.values("MIG-x", "up")} == {1}
    assert len(run.values("GPU-a", "up")) == 71
    assert any("taken away" in line for line in run.told)


def test_a_superchip_tells_card_and_module_apart(replay: Replay) -> None:
    """Of a superchip the card's own power is the card's; the module's is another figure."""
    run = replay(GPU0, "0 0 power=467000 scoped=165900 module=467000", seconds=1, how="deep")
    assert run.values("GPU-a", "power_w") == [(0, 165.9), (1, 165.9)]
    assert run.values("GPU-a", "module_power_w") == [(0, 467), (1, 467)]


def test_a_card_without_a_module_has_one_power(replay: Replay) -> None:
    """A driver that gives the same for every scope has told of no module."""
    run = replay(GPU0, "0 0 module=68600", seconds=1, how="deep")
    assert "module_power_w" not in run.metrics("GPU-a")
    assert run.values("GPU-a", "power_w")[0] == (0, 68.6)


def test_what_a_process_computes_is_told_and_an_idle_one_is_not_zero(replay: Replay) -> None:
    """A process that computed has its share; one that did not is in no list and has no figure."""
    run = replay(GPU0, "0 0 util=60 procs=5:100,6:100 psm=5:60", seconds=10, how="deep")
    shares = {(s.pid, s.value) for s in run.samples if s.metric == "process_sm_ratio"}
    assert shares == {(5, 0.6)}


def test_a_critical_error_is_heard_once(replay: Replay) -> None:
    """An Xid is one sample of its card at the look that heard of it; what came before us was lost."""
    run = replay(GPU0, GPU1, "0 1 xid=13", "2000 0 xid=79", "3000 0 xid=48", seconds=5, how="deep")
    assert [value for _, value in run.values("GPU-a", "xid")] == [79, 48]


def test_links_are_told_when_they_are_asked_for(replay: Replay) -> None:
    """Traffic costs 40 ms a card, so it is off unless somebody wants it."""
    line = "0 0 pcie_tx=1000 pcie_rx=2000 nvlink_tx=5 nvlink_rx=6"
    assert not replay(GPU0, line, how="deep").metrics("GPU-a") & {"pcie_tx_kb_s", "nvlink_tx_kib"}
    run = replay(GPU0, line, how="deep links")
    told = ("pcie_tx_kb_s", "pcie_rx_kb_s", "nvlink_tx_kib", "nvlink_rx_kib")
    assert [run.values("GPU-a", metric) for metric in told] == [[(0, n)] for n in (1000, 2000, 5, 6)]


def test_a_card_whose_call_never_returns_stops_no_other(replay: Replay) -> None:
    """A hung call makes its own card unknown, not lost and not idle, until the call returns."""
    hang = "2000 0 hang.nvmlDeviceGetUtilizationRates=1"
    run = replay(GPU0, GPU1, hang, "6000 0 hang.nvmlDeviceGetUtilizationRates=0", seconds=60, how="deep hang")
    seconds = [t for t, _ in run.values("GPU-a", "up")]
    assert seconds[:2] == [0, 1]
    assert not {2, 3, 4, 5} & set(seconds)
    assert 60 in seconds
    assert {value for _, value in run.values("GPU-a", "up")} == {1}
    assert [t for t, _ in run.values("GPU-b", "up")] == list(range(61))
    assert len([line for line in run.told if "does not return" in line]) == 1


def test_a_card_plugged_in_later_is_found(replay: Replay) -> None:
    """Within a minute a new card is sampled, and nothing is asked of it before."""
    run = replay(
        GPU0,
        "5000 1 uuid=GPU-new bus=00000000:09:00.0 name=New total=100 power=50000",
        seconds=70,
        how="deep",
    )
    first = run.values("GPU-new", "up")[0][0]
    assert 5 <= first <= 66


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("c_nvmlSample_t", 16),
        ("c_nvmlProcessUtilizationSample_t", 32),
        ("c_nvmlFieldValue_t", 40),
        ("c_nvmlEventData_t", 32),
        ("c_nvmlDeviceAttributes", 40),
        ("c_nvmlGpmMetric_t", 40),
        ("c_nvmlGpmSupport_t", 8),
    ],
)
def test_structs_of_the_deeper_calls_are_those_of_the_header(library: Path, name: str, size: int) -> None:
    """The sizes that the compiler asserted for the real header are those that pynvml reads with."""
    assert library.exists()
    assert ctypes.sizeof(getattr(pynvml, name)) == size
