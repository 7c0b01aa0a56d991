"""The supervisor: what dies is started again, what is stopped stays stopped."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from taximeter import supervisor
from taximeter.clock import SYSTEM_CLOCK

SAY_AND_WAIT = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"


def pids(log: Path) -> list[int]:
    return [int(line) for line in log.read_text().split()] if log.exists() else []


def wait_until(condition: Callable[[], bool], limit_s: float = 10.0) -> None:
    end = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text().split()[2]


def test_a_killed_program_is_started_again_and_stops_at_the_end(tmp_path: Path) -> None:
    """A kill -9 brings a new process after a pause; leaving the block ends it."""
    with supervisor.supervising(tmp_path, SYSTEM_CLOCK, {}) as keeper:
        keeper.start(supervisor.Job("sleeper", [sys.executable, "-c", SAY_AND_WAIT]))
        log = keeper.log_of("sleeper")
        wait_until(lambda: len(pids(log)) == 1)
        os.kill(pids(log)[0], signal.SIGKILL)

        def again() -> bool:
            keeper.tend()
            return len(pids(log)) == 2

        wait_until(again)
        assert keeper.deaths("sleeper") == 1
        second = pids(log)[1]
        assert is_alive(second)

    assert not is_alive(second)


def test_a_program_ends_with_its_supervisor_even_if_that_is_killed(tmp_path: Path) -> None:
    """A kill -9 of the supervisor leaves no program behind."""
    script = (
        "import pathlib, sys, time\n"
        "from taximeter import supervisor\n"
        "from taximeter.clock import SYSTEM_CLOCK\n"
        f"with supervisor.supervising(pathlib.Path({str(tmp_path)!r}), SYSTEM_CLOCK, {{}}) as keeper:\n"
        f"    keeper.start(supervisor.Job('sleeper', [sys.executable, '-c', {SAY_AND_WAIT!r}]))\n"
        "    time.sleep(60)\n"
    )
    log = tmp_path / "sleeper.log"
    parent = subprocess.Popen([sys.executable, "-c", script])
    try:
        wait_until(lambda: len(pids(log)) == 1)
        parent.kill()
    finally:
        parent.wait()

    wait_until(lambda: not is_alive(pids(log)[0]))
