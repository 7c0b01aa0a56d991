# ruff: noqa: TID251  pynvml's home is collector.agent.nvml and its parts, of which this is one
"""The real driver, the rest: its records, hardware counters, MIG instances, power by scope, faults, links."""

import ctypes
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import pynvml

from collector.agent.binding import Card, DriverError, Handle, Memory, Process
from collector.agent.deep import Fault, Links, Loads, Mark, Powers, ProcessLoad, Reading
from collector.agent.nvml import NvmlBinding
from collector.agent.nvml_call import NOT_TOLD, OLD_DRIVER, ask, ask_unless

_NO_RECORD = NOT_TOLD | {pynvml.NVML_ERROR_INVALID_ARGUMENT}
_NO_FIELD = _NO_RECORD | OLD_DRIVER
_ALL_LINKS = 0xFFFFFFFF
_MOST_FAULTS = 64  # of one look; a card that storms is heard again at the next
_LOADS = (
    pynvml.NVML_GPM_METRIC_GRAPHICS_UTIL,
    pynvml.NVML_GPM_METRIC_SM_UTIL,
    pynvml.NVML_GPM_METRIC_ANY_TENSOR_UTIL,
    pynvml.NVML_GPM_METRIC_DRAM_BW_UTIL,
)
_POWERS = (
    (pynvml.NVML_FI_DEV_POWER_AVERAGE, pynvml.NVML_POWER_SCOPE_GPU),
    (pynvml.NVML_FI_DEV_POWER_INSTANT, pynvml.NVML_POWER_SCOPE_GPU),
    (pynvml.NVML_FI_DEV_POWER_INSTANT, pynvml.NVML_POWER_SCOPE_MODULE),
)
_NVLINK = (
    (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_TX, _ALL_LINKS),
    (pynvml.NVML_FI_DEV_NVLINK_THROUGHPUT_DATA_RX, _ALL_LINKS),
)


class SliceHandle(NamedTuple):
    """A MIG instance: its own handle, and how its card's counters know it.

    `alone` is false where several compute instances share one GPU instance, whose counters are then of all.
    """

    device: Any
    parent: Any
    instance: int
    alone: bool


class DeepNvml(NvmlBinding):
    """Speaks to the driver of this machine. Not for several threads: one owner asks and stops."""

    def __init__(self) -> None:
        """Nothing is asked before `start`."""
        self._events: Any = None
        self._uuids: dict[int, str] = {}

    def stop(self) -> None:
        """Let the driver go."""
        self._unwatch()
        super().stop()

    def memory(self, handle: Handle) -> Memory:
        """Ask how its memory is divided."""
        return super().memory(_device(handle))

    def processes(self, handle: Handle) -> list[Process]:
        """List the processes that hold its memory, each once."""
        return super().processes(_device(handle))

    def slices(self, handle: Handle, card: Card) -> list[tuple[Card, Handle]]:
        """List the MIG instances that a cut card has now; the places of a card may be taken or not."""
        found = []
        for place in range(int(ask(pynvml.nvmlDeviceGetMaxMigDeviceCount, handle))):
            device = ask_unless(_NO_RECORD, pynvml.nvmlDeviceGetMigDeviceHandleByIndex, handle, place)
            if device is not None:
                found.append((device, int(ask(pynvml.nvmlDeviceGetGpuInstanceId, device))))
        instances = [instance for _, instance in found]
        return [
            (_slice(device, card), SliceHandle(device, handle, instance, instances.count(instance) == 1))
            for device, instance in found
        ]

    def busy_since(self, handle: Handle, t_us: int) -> list[Reading]:
        """List what the driver recorded after `t_us`; empty where it keeps no record of this card."""
        kind = pynvml.NVML_GPU_UTILIZATION_SAMPLES
        answer = ask_unless(_NO_RECORD, pynvml.nvmlDeviceGetSamples, handle, kind, t_us)
        samples = answer[1] if answer else []
        return [Reading(sample.timeStamp, sample.sampleValue.uiVal) for sample in samples]

    def can_mark(self, handle: Handle) -> bool:
        """Tell whether this card has counters that can be read, of a slice: and are its own."""
        if isinstance(handle, SliceHandle) and not handle.alone:
            return False
        device = handle.parent if isinstance(handle, SliceHandle) else handle
        support = ask_unless(_NO_FIELD, pynvml.nvmlGpmQueryDeviceSupport, device)
        return support is not None and bool(support.isSupportedDevice)

    def mark(self, handle: Handle) -> Mark:
        """Take a snapshot of the hardware counters; `free` it once."""
        sample = ask(pynvml.nvmlGpmSampleAlloc)
        try:
            if isinstance(handle, SliceHandle):
                ask(pynvml.nvmlGpmMigSampleGet, handle.parent, handle.instance, sample)
            else:
                ask(pynvml.nvmlGpmSampleGet, handle, sample)
        except DriverError:
            self.free(sample)
            raise
        return sample

    def free(self, mark: Mark) -> None:
        """Give a snapshot back."""
        ask(pynvml.nvmlGpmSampleFree, mark)

    def loads(self, before: Mark, after: Mark) -> Loads:
        """Compare two snapshots of one card; each figure is refused or given by itself."""
        # Not kept: a call that hung writes into its own when it returns.
        asked = pynvml.c_nvmlGpmMetricsGet_t()
        asked.version = pynvml.NVML_GPM_METRICS_GET_VERSION
        asked.numMetrics = len(_LOADS)
        asked.sample1, asked.sample2 = before, after
        for place, metric in enumerate(_LOADS):
            asked.metrics[place].metricId = metric
        ask(pynvml.nvmlGpmMetricsGet, asked)
        return Loads(*(_told(asked.metrics[place]) for place in range(len(_LOADS))))

    def powers(self, handle: Handle) -> Powers:
        """Ask what is drawn by scope: the average of a second where there is one, else the present figure."""
        average, instant, module = _fields(handle, _POWERS)
        return Powers(instant if average is None else average, module)

    def process_loads(self, handle: Handle, t_us: int) -> list[ProcessLoad]:
        """List processes that computed after `t_us`; NOT_FOUND is an idle card's normal answer."""
        try:
            samples = ask(pynvml.nvmlDeviceGetProcessUtilization, handle, t_us)
        except DriverError as error:
            # 0: pynvml raises success where the driver needs no room, which is: nothing to tell.
            if error.code in (pynvml.NVML_SUCCESS, pynvml.NVML_ERROR_NOT_FOUND):
                return []
            raise
        return [ProcessLoad(sample.pid, sample.timeStamp, sample.smUtil) for sample in samples]

    def links(self, handle: Handle) -> Links:
        """Measure traffic; the PCIe calls block for their window of 20 ms each.

        Raises:
            DriverError: the card tells nothing of its links.
        """
        pcie = [
            ask_unless(_NO_FIELD, pynvml.nvmlDeviceGetPcieThroughput, handle, counter)
            for counter in (pynvml.NVML_PCIE_UTIL_TX_BYTES, pynvml.NVML_PCIE_UTIL_RX_BYTES)
        ]
        links = Links(*pcie, *_fields(handle, _NVLINK))
        if not any(figure is not None for figure in links):
            raise DriverError(pynvml.NVML_ERROR_NOT_SUPPORTED, "nvmlDeviceGetPcieThroughput")
        return links

    def watch(self, cards: Mapping[str, Handle]) -> None:
        """Hear of critical errors of these cards; one that cannot tell of them is left out."""
        self._unwatch()
        self._events = ask(pynvml.nvmlEventSetCreate)
        self._uuids = {}
        for uuid, handle in cards.items():
            self._uuids[_address(handle)] = uuid
            kind = pynvml.nvmlEventTypeXidCriticalError
            ask_unless(_NO_FIELD, pynvml.nvmlDeviceRegisterEvents, handle, kind, self._events)

    def faults(self) -> list[Fault]:
        """Take the critical errors that were reported since the last call; quiet is a timeout of 0 ms."""
        heard: list[Fault] = []
        while self._events is not None and len(heard) < _MOST_FAULTS:
            event = ask_unless({pynvml.NVML_ERROR_TIMEOUT}, pynvml.nvmlEventSetWait_v2, self._events, 0)
            if event is None:
                break
            uuid = self._uuids.get(_address(event.device))
            if uuid is not None and event.eventType & pynvml.nvmlEventTypeXidCriticalError:
                heard.append(Fault(uuid, event.eventData))
        return heard

    def _unwatch(self) -> None:
        events, self._events = self._events, None
        if events is not None:
            ask_unless({pynvml.NVML_ERROR_UNINITIALIZED}, pynvml.nvmlEventSetFree, events)


def _device(handle: Handle) -> Any:
    return handle.device if isinstance(handle, SliceHandle) else handle


def _slice(device: Any, card: Card) -> Card:
    """Name an instance; its share of the card is that of its compute slices, not of its memory."""
    uuid = str(ask(pynvml.nvmlDeviceGetUUID, device))
    attributes = ask_unless(_NO_FIELD, pynvml.nvmlDeviceGetAttributes_v2, device)
    slices = attributes.computeInstanceSliceCount if attributes else None
    return Card(uuid, card.bus_id, card.index, card.name, card.uuid, slices or None)


def _fields(handle: Handle, wanted: tuple[tuple[int, int], ...]) -> list[int | None]:
    """Ask several fields by scope in one call; None for each that this card does not tell."""
    values = ask_unless(_NO_FIELD, pynvml.nvmlDeviceGetFieldValues, handle, list(wanted))
    if values is None:
        return [None] * len(wanted)
    # The struct was zeroed, so a figure of fewer bytes reads the same as one of eight.
    return [value.value.ullVal if value.nvmlReturn == pynvml.NVML_SUCCESS else None for value in values]


def _told(metric: Any) -> float | None:
    known = metric.nvmlReturn == pynvml.NVML_SUCCESS and math.isfinite(metric.value)
    return float(metric.value) if known else None


def _address(handle: Handle) -> int:
    return ctypes.cast(handle, ctypes.c_void_p).value or 0
