"""Drives the real sampler over the real pynvml and the test's driver library, on a virtual clock.

Started in a process of its own, because pynvml keeps its library for life:
`replay.py LIBRARY SECONDS INTERVAL_S`. Prints one JSON object: the samples, what was told, how it ended.
"""

import ctypes
import json
import sys

from collector.agent.nvml import NvmlBinding
from collector.agent.sampler import Sampler
from taximeter.clock import NS_PER_MS, ManualClock
from taximeter.errors import TaximeterError


class TwoClocks(ManualClock):
    """Moves the library's time with our own."""

    def __init__(self, library: ctypes.CDLL) -> None:
        super().__init__()
        self._library = library

    def sleep(self, seconds: float) -> None:
        super().sleep(seconds)
        self._library.fake_nvml_at(ctypes.c_longlong(self.now_ns() // NS_PER_MS))


def main(library_path: str, seconds: float, interval_s: float) -> dict[str, object]:
    clock = TwoClocks(ctypes.CDLL(library_path, mode=ctypes.RTLD_GLOBAL))
    told: list[str] = []
    samples: list[list[object]] = []
    sampler = Sampler(NvmlBinding(), clock, process_interval_s=5, tell=told.append)
    try:
        sampler.start()
        while clock.monotonic_s() <= seconds:
            samples += [
                [s.card.uuid, s.card.bus_id, s.card.index, s.card.name, s.metric, s.t_ns, s.value, s.pid]
                for s in sampler.sample()
            ]
            clock.sleep(interval_s)
        sampler.stop()
    except TaximeterError as error:
        return {"samples": samples, "told": told, "error": type(error).__name__, "text": str(error)}
    return {"samples": samples, "told": told, "error": None, "text": ""}


if __name__ == "__main__":
    json.dump(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3])), sys.stdout)
