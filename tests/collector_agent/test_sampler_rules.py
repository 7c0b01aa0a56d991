"""What holds for every driver answer, whatever it is."""

import pynvml
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.agent.otlp import _UNITS
from collector.agent.reactions import reaction
from collector.agent.sampler import Sampler
from collector.agent.testing import FailingBinding
from taximeter.clock import ManualClock
from warehouse.rows import GPU_METRICS

GIVES = {
    "utilization": {"util_ratio", "memory_util_ratio"},
    "power": {"power_w"},
    "energy": {"energy_j"},
    "power_limit": {"power_limit_w"},
    "processes": {"processes", "process_memory_mib"},
    "memory": {"memory_used_mib", "memory_total_mib", "memory_reserved_mib"},
}
CODES = sorted(
    value
    for name, value in vars(pynvml).items()
    if name.startswith("NVML_ERROR_") and reaction(value).kind != "mismatch"
)
FAILURES = st.dictionaries(
    st.tuples(st.just(0), st.sampled_from(sorted(GIVES))), st.sampled_from(CODES), min_size=1, max_size=4
)


@given(ticks=st.lists(FAILURES, min_size=1, max_size=6))
@settings(max_examples=150, deadline=None)
def test_refused_figure_has_no_point_and_no_other_card_is_touched(
    ticks: list[dict[tuple[int, str], int]],
) -> None:
    """Whatever a card refuses is absent, what it answers is right, and the card beside it answers in full."""
    binding, clock = FailingBinding(2), ManualClock()
    sampler = Sampler(binding, clock, process_interval_s=1, tell=lambda _: None)
    assert sampler.start() == 2
    for codes in ticks:
        binding.codes = codes
        kinds = {reaction(code).kind for code in codes.values()}
        samples = sampler.sample()
        clock.sleep(100)
        mine = {s.metric: s.value for s in samples if s.card.uuid == "GPU-0"}
        for (_, call), code in codes.items():
            given = GIVES[call] & set(mine)
            # A card without memory of its own uses what its processes hold.
            assert given <= ({"memory_used_mib"} if code == pynvml.NVML_ERROR_NOT_SUPPORTED else set())
            assert not given or mine["memory_used_mib"] == 40 << 10
        if mine.get("up") == 0:
            assert set(mine) == {"up"}
            assert "lost" in kinds
        assert mine.get("util_ratio") in (None, 0.5)
        if not kinds & {"restart", "no_driver"}:
            assert {s.metric: s.value for s in samples if s.card.uuid == "GPU-1"}["util_ratio"] == 0.5


@given(ticks=st.lists(FAILURES, max_size=6))
@settings(max_examples=50, deadline=None)
def test_every_card_comes_back_by_itself(ticks: list[dict[tuple[int, str], int]]) -> None:
    """After any run of errors, a driver that answers again gives every figure again within two minutes."""
    binding, clock = FailingBinding(2), ManualClock()
    sampler = Sampler(binding, clock, process_interval_s=1, tell=lambda _: None)
    sampler.start()
    for codes in ticks:
        binding.codes = codes
        sampler.sample()
        clock.sleep(1)
    binding.codes = {}
    seen: set[str] = set()
    last: set[str] = set()
    for _ in range(130):
        last = {s.metric for s in sampler.sample() if s.card.uuid == "GPU-0"}
        seen |= last
        clock.sleep(1)
    assert last >= {"up", "util_ratio", "memory_used_mib", "power_w", "energy_j", "processes"}
    if ticks:
        return
    assert seen >= {"memory_total_mib", "memory_reserved_mib", "power_limit_w"}


def test_card_lost_before_the_start_leaves_the_others_readable() -> None:
    """A card that cannot even be opened is told of once; the one beside it is sampled."""
    binding, clock, told = FailingBinding(2), ManualClock(), list[str]()
    binding.codes = {(0, "handle"): pynvml.NVML_ERROR_GPU_IS_LOST}
    sampler = Sampler(binding, clock, tell=told.append)
    assert sampler.start() == 1
    assert {s.card.uuid for s in sampler.sample()} == {"GPU-1"}
    assert len(told) == 1
    assert "index 0" in told[0]


def test_every_code_of_the_driver_has_a_reaction() -> None:
    """A return code without a line in the table is one that no person can look up."""
    names = {v: n for n, v in vars(pynvml).items() if n.startswith("NVML_ERROR_")}
    known_by_design = {"ALREADY_INITIALIZED", "IN_USE", "VGPU_ECC_NOT_SUPPORTED", "FREQ_NOT_SUPPORTED"}
    known_by_design |= {"RESET_TYPE_NOT_SUPPORTED"}  # answers to calls that are never made
    bare = {
        name.removeprefix("NVML_ERROR_") for code, name in names.items() if reaction(code).name != name[11:]
    }
    assert bare == known_by_design


def test_metrics_are_those_of_the_warehouse() -> None:
    """Every figure that the agent can send is a GPU metric that the warehouse takes, and has a unit."""
    sampler = Sampler(FailingBinding(1), ManualClock(), tell=lambda _: None)
    sampler.start()
    assert {s.metric for s in sampler.sample()} <= set(GPU_METRICS)
    assert set(_UNITS) == set(GPU_METRICS)
