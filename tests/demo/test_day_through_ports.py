"""The simulated day as it arrives: what the collector decodes is what the plan knows to be true."""

from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from taximeter.clock import NS_PER_S


def _by_trace(played: Any, role: str) -> dict[str, list[dict[str, Any]]]:
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in played.tables["spans"].to_pylist():
        if row["role"] == role:
            rows[row["trace_id"]].append(row)
    return rows


def test_nothing_was_refused_and_everything_is_simulated(played: Any) -> None:
    """Every span and sample says that it is simulated, is read by a dialect, and none was refused."""
    spans, samples = played.tables["spans"], played.tables["samples"]
    assert played.tables["refused"].num_rows == 0
    assert set(spans["simulated"].to_pylist()) == {True}
    assert set(samples["simulated"].to_pylist()) == {True}
    assert set(spans["dialect"].to_pylist()) == {"otel_genai", "openinference", "claude_code"}
    assert set(spans["trace_id"].to_pylist()) == set(played.truth["tasks"])
    assert "other" not in set(spans["role"].to_pylist())


def test_tokens_of_every_task_are_those_of_the_plan(played: Any) -> None:
    """Per task, calls and tokens read from spans equal what the agents did, whatever dialect told them."""
    llm = _by_trace(played, "llm")
    for trace_id, task in played.truth["tasks"].items():
        answered = [row for row in llm[trace_id] if row["input_tokens"] is not None]
        assert len(answered) == task["llm_calls"], task["dialect"]
        for field in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens"):
            assert sum(row[field] or 0 for row in answered) == task[field], (task["dialect"], field)


def test_attempts_of_every_task_are_those_of_the_plan(played: Any) -> None:
    """Failed tries are spans of their own or told inside the call: together they are the attempts."""
    llm = _by_trace(played, "llm")
    for trace_id, task in played.truth["tasks"].items():
        assert sum(row["attempts"] or 1 for row in llm[trace_id]) == task["llm_attempts"], task["dialect"]
    assert any(task["llm_attempts"] > task["llm_calls"] for task in played.truth["tasks"].values())


def test_tools_of_every_task_are_those_of_the_plan(played: Any) -> None:
    """Each run of a tool is one tool span, with its name, its arguments' hash and its error."""
    tools = _by_trace(played, "tool")
    for trace_id, task in played.truth["tasks"].items():
        assert len(tools[trace_id]) == task["tool_calls"], task["dialect"]
        if task["dialect"] != "claude_code":
            assert all(row["args_hash"] for row in tools[trace_id])
            assert sum(row["status"] == "error" for row in tools[trace_id]) == task["tool_errors"]


def test_calls_on_own_gpus_name_their_replica(played: Any) -> None:
    """A call that our own cards served says where; a call of a model API says nothing of the kind."""
    llm = _by_trace(played, "llm")
    for trace_id, task in played.truth["tasks"].items():
        placed = [row for row in llm[trace_id] if row["replica"] is not None]
        assert len(placed) == task["own_gpu_calls"]
        assert all(row["deployment"] or row["server_address"] for row in placed)


def test_every_card_is_sampled_at_every_tick(played: Any) -> None:
    """Each card has one `up` a tick; while it is lost it has nothing else."""
    samples = played.tables["samples"].to_pylist()
    ticks = 24 * 3600 // played.tick_s
    cards = {uuid for replica in played.truth["replicas"] for uuid in replica["gpu_uuids"]}
    up = Counter(row["gpu_uuid"] for row in samples if row["metric"] == "up")
    assert up == dict.fromkeys(cards, ticks)
    assert {row["t_ns"] % (played.tick_s * NS_PER_S) for row in samples} == {
        played.until_ns % (played.tick_s * NS_PER_S)
    }
    down = {(row["gpu_uuid"], row["t_ns"]) for row in samples if (row["metric"], row["value"]) == ("up", 0)}
    others = {(row["gpu_uuid"], row["t_ns"]) for row in samples if row["metric"] != "up"}
    assert len(down) == 3600 // played.tick_s
    assert not down & others


def test_busy_samples_are_those_of_replicas_at_work(played: Any) -> None:
    """A card that answers is above zero if and only if its replica worked in the tick before."""
    samples = played.tables["samples"].to_pylist()
    busy = {
        (row["gpu_uuid"], row["t_ns"])
        for row in samples
        if row["metric"] == "util_ratio" and row["value"] > 0
    }
    start_ns, tick_ns = played.truth["start_ns"], played.tick_s * NS_PER_S
    worked = {
        (uuid, start_ns + tick * tick_ns)
        for replica in played.truth["replicas"]
        for uuid in replica["gpu_uuids"]
        for from_ns, to_ns in replica["worked_ns"]
        for tick in range(from_ns // tick_ns + 1, -(-to_ns // tick_ns) + 1)
    }
    lost = {(row["gpu_uuid"], row["t_ns"]) for row in samples if (row["metric"], row["value"]) == ("up", 0)}
    assert busy == worked - lost


def test_same_seed_sends_the_same_rows(played: Any, play: Callable[[Path], Any], tmp_path: Path) -> None:
    """Played twice, the day is the same to the last id and figure; only when it was received differs."""
    again = play(tmp_path)
    assert again.truth == played.truth
    for kind, receipt in (("spans", {"received_ns"}), ("samples", set[str]())):
        rows = [Counter(map(str, _without(table[kind], receipt))) for table in (played.tables, again.tables)]
        assert rows[0] == rows[1]


def _without(table: pa.Table, columns: set[str]) -> list[dict[str, Any]]:
    return table.drop_columns(list(columns)).to_pylist()
