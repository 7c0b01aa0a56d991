"""Runs programs side by side on one machine: starts them, starts them again when they die, stops them all."""

import contextlib
import ctypes
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple

from taximeter.clock import Clock
from taximeter.errors import TaximeterError

STOP_S = 10.0
FIRST_PAUSE_S = 0.5
LONGEST_PAUSE_S = 30.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None)
# A program that lived this long has recovered: its next death pauses briefly again.
HEALTHY_S = 60.0


class Job(NamedTuple):
    """One program to keep running."""

    name: str
    command: list[str]


class _Running:
    """A job's process, and when it may be started again."""

    def __init__(self, job: Job, log: IO[bytes]) -> None:
        self.job = job
        self.log = log
        self.process: subprocess.Popen[bytes] | None = None
        self.started_s = 0.0
        self.pause_s = FIRST_PAUSE_S
        self.start_at_s = 0.0
        self.deaths = 0


class Supervisor:
    """Keeps jobs running; what they print goes to one log file each."""

    def __init__(self, logs: Path, clock: Clock, environment: Mapping[str, str]) -> None:
        """Write logs below `logs`; `environment` is laid over this process's own for every job."""
        self._logs = logs
        self._clock = clock
        self._environment = {**os.environ, **environment}
        self._running: dict[str, _Running] = {}

    def start(self, job: Job) -> None:
        """Start a job; it is started again whenever it ends."""
        self._logs.mkdir(parents=True, exist_ok=True)
        running = _Running(job, (self._logs / f"{job.name}.log").open("ab"))
        self._running[job.name] = running
        self._spawn(running)

    def tend(self) -> list[str]:
        """Start what has died and waited long enough; return the names of the jobs found dead."""
        dead = []
        for running in self._running.values():
            if running.process is not None and running.process.poll() is not None:
                dead.append(running.job.name)
                self._note_death(running)
            if running.process is None and self._clock.monotonic_s() >= running.start_at_s:
                self._spawn(running)
        return dead

    def deaths(self, name: str) -> int:
        """Count how often a job has ended by itself."""
        return self._running[name].deaths

    def log_of(self, name: str) -> Path:
        """Tell where a job's output is."""
        return self._logs / f"{name}.log"

    def stop(self) -> None:
        """Ask every job to end, last started first, and end those that do not within ten seconds."""
        order = list(reversed(self._running.values()))
        for running in order:
            if running.process is not None and running.process.poll() is None:
                running.process.send_signal(signal.SIGTERM)
        deadline = self._clock.monotonic_s() + STOP_S
        for running in order:
            self._end(running, deadline)
        self._running.clear()

    def _spawn(self, running: _Running) -> None:
        running.started_s = self._clock.monotonic_s()
        running.process = subprocess.Popen(
            running.job.command,
            stdin=subprocess.DEVNULL,
            stdout=running.log,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - one system call, no threads here
        )

    def _note_death(self, running: _Running) -> None:
        now_s = self._clock.monotonic_s()
        running.deaths += 1
        lived_long = now_s - running.started_s > HEALTHY_S
        running.pause_s = FIRST_PAUSE_S if lived_long else min(running.pause_s * 2, LONGEST_PAUSE_S)
        running.start_at_s = now_s + running.pause_s
        running.process = None

    def _end(self, running: _Running, deadline_s: float) -> None:
        if running.process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                running.process.wait(max(0.1, deadline_s - self._clock.monotonic_s()))
            if running.process.poll() is None:
                running.process.kill()
                running.process.wait()
        running.log.close()


@contextlib.contextmanager
def supervising(logs: Path, clock: Clock, environment: Mapping[str, str]) -> Iterator[Supervisor]:
    """Run a supervisor; SIGTERM becomes an ordinary end, and every job is stopped at the end."""
    supervisor = Supervisor(logs, clock, environment)
    before = signal.signal(signal.SIGTERM, _interrupt)
    try:
        yield supervisor
    finally:
        signal.signal(signal.SIGTERM, before)
        supervisor.stop()


def _die_with_parent() -> None:
    """Ask the kernel to end this process when its parent ends, however that ends."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _interrupt(number: int, frame: object) -> None:
    del number, frame
    raise KeyboardInterrupt


def tail(file: Path, lines: int = 5) -> str:
    """Read the last lines of a log, for an error message."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise TaximeterError(str(error)) from None
    return "\n".join(text.splitlines()[-lines:])
