"""Real sessions on one real GPU: the ledger gives the figures that others computed from the same files."""

import json
from pathlib import Path

import pytest
from ledger_bench import Bench
from ledger_recording import read

FOLDER = Path(__file__).parents[3] / "shared" / "data" / "agentcgroup-coding-agents"


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the recorded coding-agent sessions are not on this machine")
def test_one_gpu_serves_waits_and_idles_as_the_recording_says(bench: Bench) -> None:
    """74 sessions on one declared GPU: each state's seconds and dollars, and all of them the wall time."""
    oracle = json.loads((FOLDER / "oracle.json").read_text(encoding="utf-8"))["summary"]
    world = read(FOLDER / "local_glm")
    bench.put(world)
    bench.compute(world)
    states = {
        state: (seconds, float(usd))
        for state, seconds, usd in bench.sql(
            "select state, sum(gpu_ns) / 1e9, sum(cost_usd) from gpu_ledger group by state"
        )
    }
    assert states["serving"][0] == pytest.approx(oracle["llm_active_union_s"], abs=0.001)
    assert states["tool_wait"][0] == pytest.approx(11_476.980, abs=0.001)
    assert states["no_task"][0] == pytest.approx(oracle["between_task_gap_s"], abs=0.001)
    assert states.keys() == {"serving", "tool_wait", "no_task"}
    assert sum(seconds for seconds, _ in states.values()) == pytest.approx(oracle["wall_s"], abs=0.001)
    for state, usd in {"serving": 5.3105, "tool_wait": 3.1881, "no_task": 11.3981}.items():
        assert states[state][1] == pytest.approx(usd, abs=0.0001)
    (bash,) = bench.sql("select sum(cost_usd) from task_waits where cause = 'Bash'")
    assert float(bash[0]) == pytest.approx(3.1586, abs=0.0001)
    assert bench.laws() == []
