"""Which server a process id of this machine belongs to, from /proc: read, reduced to a name, forgotten.

The process that holds a card's memory is often a worker that a server started and renamed, such as
`VLLM::EngineCore`, so its parents are read too, a few steps up. Needs the machine's own /proc: in a
container, host process ids.
"""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from collector.agent.served import Served, read_served
from collector.agent.workloads import Workloads

_STEPS_UP = 8
_KEPT = 4096  # process ids remembered; more than one machine has on its cards
_MOST_BYTES = 1 << 17  # of a command line or an environment; what does not fit is not read further
_CONTAINER = re.compile(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])")


class _Stat(NamedTuple):
    parent: int
    started: str  # in clock ticks since the machine's start: with the id it names a process for good


class Processes:
    """Names processes. `root` is the machine's root folder as this process sees it, such as /host."""

    def __init__(self, root: Path = Path("/")) -> None:
        self._proc = root / "proc"
        self._workloads = Workloads(root / "var" / "log" / "containers")
        self._known: dict[tuple[int, str], Served] = {}

    def served(self, pid: int) -> Served | None:
        """Tell what a process serves and for whom; None where nothing is known of it.

        What is known of a process stays known while it lives; an id that was used again is another process.
        """
        stat = self._stat(pid)
        if stat is None:
            return None
        key = (pid, stat.started)
        known = self._known.get(key)
        if known is None:
            known = self._look(pid)
            if known is not None:
                if len(self._known) >= _KEPT:
                    self._known.clear()
                self._known[key] = known
        return known

    def _look(self, pid: int) -> Served | None:
        served = self._server_above(pid)
        workload = self._workloads.of(self._container(pid))
        if served is None:
            return Served(None, None, workload) if workload else None
        return served._replace(workload=workload)

    def _server_above(self, pid: int) -> Served | None:
        for _ in range(_STEPS_UP):
            served = read_served(self._words(pid), partial(self._environment, pid))
            if served is not None:
                return served
            stat = self._stat(pid)
            if stat is None or stat.parent <= 1:
                return None
            pid = stat.parent
        return None

    def _words(self, pid: int) -> list[str]:
        return [word for word in self._read(pid, "cmdline").split("\0") if word]

    def _environment(self, pid: int) -> Mapping[str, str]:
        pairs = (pair.partition("=") for pair in self._read(pid, "environ").split("\0"))
        return {name: value for name, equals, value in pairs if equals}

    def _container(self, pid: int) -> str | None:
        """Find the container's id in the path of the process's control group, the innermost if nested."""
        found = _CONTAINER.findall(self._read(pid, "cgroup"))
        return found[-1] if found else None

    def _stat(self, pid: int) -> _Stat | None:
        # The name may hold spaces and brackets; what follows its last bracket does not.
        fields = self._read(pid, "stat").rpartition(")")[2].split()
        return _Stat(int(fields[1]), fields[19]) if len(fields) > 19 else None  # noqa: PLR2004  proc(5)

    def _read(self, pid: int, name: str) -> str:
        """Read a file of a process; empty where it ended meanwhile or may not be read."""
        try:
            with (self._proc / str(pid) / name).open("rb") as file:
                return file.read(_MOST_BYTES).decode("utf-8", "replace")
        except OSError:
            return ""
