"""What processes cost: CPU seconds, memory and disk, as the kernel tells them."""

import os
import threading
from pathlib import Path
from typing import Self

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")
_MIB = 1024 * 1024


def children(pid: int) -> list[int]:
    """List a process and all that it started."""
    found = [pid]
    for parent in found:
        for task in Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in task.read_text().split()]
    return found


def _family(pids: list[int]) -> set[int]:
    return {member for pid in pids for member in children(pid)}


def cpu_s(pids: list[int]) -> float:
    """CPU seconds, user and system, that the processes and what they started have used."""
    total = 0
    for pid in _family(pids):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += sum(map(int, fields[11:15]))
    return total / _TICKS_PER_S


def memory_mib(pids: list[int]) -> float:
    """Proportional memory of the processes and what they started, in MiB."""
    total = 0
    for pid in _family(pids):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
    return total / _MIB


def disk_bytes(folder: Path) -> int:
    """Bytes of all files under the folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


class Peak:
    """Looks at memory once a second while it is open, and keeps the largest."""

    def __init__(self, pids: list[int]) -> None:
        self._pids = pids
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self.mib = 0.0

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _look(self) -> None:
        while True:
            self.mib = max(self.mib, memory_mib(self._pids))
            if self._ended.wait(1.0):
                return
