"""A stranger's first minute: a real SDK program shows up in a report."""

import os
import subprocess
import sys
import time
from pathlib import Path

from taximeter.testing import programs

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"
VISIBLE_S = 2.0


def test_the_example_agent_is_in_the_report_within_two_seconds(tmp_path: Path) -> None:
    """From the end of the exporter's flush to `report tasks` it takes at most two seconds."""
    with programs(tmp_path / "data") as running:
        running.start("collector")
        running.start("warehouse")
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": running.otlp_url}
        printed = subprocess.run(
            [sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True, check=True
        ).stdout
        flushed = time.monotonic()
        trace_id = printed.split()[1]

        running.wait_until(
            lambda: [row["task_id"] for row in running.report("tasks")] == [trace_id], VISIBLE_S
        )
        visible_s = time.monotonic() - flushed
        (task,) = running.report("tasks")
        said = running.command("report", "tasks", "--format", "json", "--url", running.warehouse_url)

    assert visible_s < VISIBLE_S
    assert (task["llm_calls"], task["llm_attempts"], task["retries"], task["tool_calls"]) == (2, 3, 1, 1)
    assert (task["input_tokens"], task["cache_read_tokens"], task["output_tokens"]) == (3_100, 1_024, 230)
    # 2,076 fresh x 0.25 + 1,024 cached x 0.025 + 230 x 2.00, per million
    assert float(task["token_cost_usd"]) == 0.0010046
    assert said.returncode == 0, said.stderr
    assert trace_id in said.stdout
