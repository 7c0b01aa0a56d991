"""Drives the real sampler over the real pynvml and the test's driver library, on a virtual clock.

Started in a process of its own, because pynvml keeps its library for life:
`replay.py LIBRARY SECONDS INTERVAL_S [deep] [links] [hang]`; `hang` gives calls a thread of their own.
Prints one JSON object: the samples, what was told, how it ended.
"""

import ctypes
import json
import sys

from collector.agent.nvml import NvmlBinding
from collector.agent.nvml_deep import DeepNvml
from collector.agent.owner import Inline, OwnerThread
from collector.agent.sampler import Sample, Sampler
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


def _flat(sample: Sample) -> list[object]:
    card = sample.card
    who = [card.uuid, card.bus_id, card.index, card.name]
    return [*who, sample.metric, sample.t_ns, sample.value, sample.pid, card.parent_uuid, card.slices]


def main(library_path: str, seconds: float, interval_s: float, how: list[str]) -> dict[str, object]:
    library = ctypes.CDLL(library_path, mode=ctypes.RTLD_GLOBAL)
    clock = TwoClocks(library)
    told: list[str] = []
    samples: list[list[object]] = []
    sampler = Sampler(
        DeepNvml() if "deep" in how else NvmlBinding(),
        clock,
        interval_s=interval_s,
        process_interval_s=5,
        links="links" in how,
        owner=OwnerThread(0.2) if "hang" in how else Inline(),
        tell=told.append,
    )
    try:
        sampler.start()
        while clock.monotonic_s() <= seconds:
            samples += [_flat(sample) for sample in sampler.sample()]
            clock.sleep(interval_s)
        sampler.stop()
        marks = library.fake_nvml_marks()
    except TaximeterError as error:
        return {
            "samples": samples,
            "told": told,
            "error": type(error).__name__,
            "text": str(error),
            "marks": 0,
        }
    return {"samples": samples, "told": told, "error": None, "text": "", "marks": marks}


if __name__ == "__main__":
    json.dump(main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]), sys.argv[4:]), sys.stdout)
