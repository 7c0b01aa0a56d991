"""A stranger's first minute: a real SDK program shows up in a report.

How fast is measured in benchmarks/visible.py: time is no test on a shared machine.
"""

import os
import subprocess
import sys
from pathlib import Path

from taximeter.testing import programs

EXAMPLE = Path(__file__).parents[2] / "examples" / "agent.py"
PATIENCE_S = 60.0


def test_the_example_agent_is_in_the_report(tmp_path: Path) -> None:
    """What the plain SDK's exporter sent is a task with its attempts, tokens and money."""
    with programs(tmp_path / "data") as running:
        running.start("collector")
        running.start("warehouse")
        environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": running.otlp_url}
        printed = subprocess.run(
            [sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True, check=True
        ).stdout
        trace_id = printed.split()[1]

        running.wait_until(
            lambda: [row["task_id"] for row in running.report("tasks")] == [trace_id], PATIENCE_S
        )
        (task,) = running.report("tasks")
        said = running.command("report", "tasks", "--format", "json", "--url", running.warehouse_url)

    assert (task["llm_calls"], task["llm_attempts"], task["retries"], task["tool_calls"]) == (2, 3, 1, 1)
    assert (task["input_tokens"], task["cache_read_tokens"], task["output_tokens"]) == (3_100, 1_024, 230)
    # 2,076 fresh x 0.25 + 1,024 cached x 0.025 + 230 x 2.00, per million
    assert float(task["token_cost_usd"]) == 0.0010046
    assert said.returncode == 0, said.stderr
    assert trace_id in said.stdout
