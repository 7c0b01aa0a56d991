"""How long from the end of an exporter's flush until the task is in `report tasks` (the goal is 2 s)."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from taximeter.testing import Programs, programs

EXAMPLE = Path(__file__).parents[1] / "examples" / "agent.py"
ROUNDS = 10


def _run_agent(running: Programs) -> str:
    """Run the example agent to its end, flush included, and return its trace id."""
    environment = {**os.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": running.otlp_url}
    printed = subprocess.run(
        [sys.executable, str(EXAMPLE)], env=environment, capture_output=True, text=True, check=True
    ).stdout
    return printed.split()[1]


def _visible_s(running: Programs) -> float:
    trace_id = _run_agent(running)
    start = time.monotonic()
    running.wait_until(lambda: trace_id in {row["task_id"] for row in running.report("tasks")}, 60)
    return time.monotonic() - start


def main() -> None:
    """Send tasks one by one to running programs and print how long each took to be seen."""
    with tempfile.TemporaryDirectory() as folder, programs(Path(folder) / "data") as running:
        running.start("collector")
        running.start("warehouse")
        _visible_s(running)  # the first one also loads the price catalogue
        seconds = sorted(_visible_s(running) for _ in range(ROUNDS))
    load = os.getloadavg()[0]
    print(
        f"flush to report, {ROUNDS} tasks: median {statistics.median(seconds):.2f} s, "
        f"longest {seconds[-1]:.2f} s (load average {load:.1f} on {os.cpu_count()} cores)"
    )


if __name__ == "__main__":
    main()
