"""The real driver: the only importer of pynvml, with the detours that old drivers need."""

from collections.abc import Callable
from typing import Any

import pynvml

from collector.agent.binding import Card, DriverError, Handle, Memory, Process, Utilization
from collector.agent.reactions import reaction

# Another list than the compute one may be missing on a card that has no use for it.
_NO_SUCH_LIST = {
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
}
_OLD_DRIVER = {
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    pynvml.NVML_ERROR_DEPRECATED,
}
_COMPUTE_LISTS = (
    pynvml.nvmlDeviceGetComputeRunningProcesses_v3,
    pynvml.nvmlDeviceGetComputeRunningProcesses_v2,
)
_OTHER_LISTS = (
    (pynvml.nvmlDeviceGetGraphicsRunningProcesses_v3, pynvml.nvmlDeviceGetGraphicsRunningProcesses_v2),
    (pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v3, pynvml.nvmlDeviceGetMPSComputeRunningProcesses_v2),
)


class NvmlBinding:
    """Speaks to the driver of this machine. Not for several threads: one owner asks and stops."""

    def start(self) -> None:
        """Connect; where one card cannot attach, connect without it so that the others can be read.

        Raises:
            DriverError: there is no driver, it does not match its library, or it refuses.
        """
        try:
            pynvml.nvmlInit()
        except pynvml.NVMLError as error:
            if reaction(error.value).kind in ("no_driver", "mismatch"):
                raise DriverError(error.value, "nvmlInit") from None
            _ask(pynvml.nvmlInitWithFlags, pynvml.NVML_INIT_FLAG_NO_ATTACH)

    def stop(self) -> None:
        """Let the driver go."""
        _ask(pynvml.nvmlShutdown)

    def count(self) -> int:
        """Cards the driver lists."""
        return int(_ask(pynvml.nvmlDeviceGetCount))

    def handle(self, index: int) -> Handle:
        """Open the card that is at `index` now."""
        return _ask(pynvml.nvmlDeviceGetHandleByIndex, index)

    def card(self, handle: Handle, index: int) -> Card:
        """Ask a card who it is; a name or bus id that it does not tell stays None."""
        uuid = str(_ask(pynvml.nvmlDeviceGetUUID, handle))
        bus = _ask_unless(_NO_SUCH_LIST, pynvml.nvmlDeviceGetPciInfo, handle)
        name = _ask_unless(_NO_SUCH_LIST, pynvml.nvmlDeviceGetName, handle)
        return Card(uuid, _text(bus.busId) if bus else None, index, _text(name) if name else None)

    def utilization(self, handle: Handle) -> Utilization:
        """Ask how busy the card was."""
        rates = _ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
        return Utilization(rates.gpu, rates.memory)

    def memory(self, handle: Handle) -> Memory:
        """Ask how its memory is divided.

        An old driver's first struct counts the driver's reserve as used, 0.4 to 1 GiB on an empty card:
        of it only the total is taken.
        """
        info = _ask_unless(_OLD_DRIVER, pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2)
        if info is None:
            return Memory(_ask(pynvml.nvmlDeviceGetMemoryInfo, handle).total, None, None)
        return Memory(info.total, info.used, info.reserved)

    def power_mw(self, handle: Handle) -> int:
        """Ask what it draws, in milliwatts."""
        return int(_ask(pynvml.nvmlDeviceGetPowerUsage, handle))

    def power_limit_mw(self, handle: Handle) -> int:
        """Ask what it may draw at most, in milliwatts."""
        return int(_ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle))

    def energy_mj(self, handle: Handle) -> int:
        """Ask for the millijoules since the driver was loaded."""
        return int(_ask(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle))

    def is_split(self, handle: Handle) -> bool:
        """Ask whether the card is cut into MIG instances; one that cannot be is not."""
        modes = _ask_unless(_NO_SUCH_LIST, pynvml.nvmlDeviceGetMigMode, handle)
        return modes is not None and modes[0] == pynvml.NVML_DEVICE_MIG_ENABLE

    def processes(self, handle: Handle) -> list[Process]:
        """List the processes that compute, draw or share through MPS, each once with the most memory told."""
        listed = list(_newest(_COMPUTE_LISTS, handle))
        for others in _OTHER_LISTS:
            try:
                listed += _newest(others, handle)
            except DriverError as error:
                if error.code not in _NO_SUCH_LIST:
                    raise
        held: dict[int, int | None] = {}
        for process in listed:
            told = [size for size in (held.get(process.pid), process.usedGpuMemory) if size is not None]
            held[process.pid] = max(told, default=None)
        return [Process(pid, size) for pid, size in held.items()]


def _ask(call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        raise DriverError(error.value, call.__name__) from None


def _ask_unless(codes: set[int], call: Callable[..., Any], *arguments: Any) -> Any:
    try:
        return _ask(call, *arguments)
    except DriverError as error:
        if error.code in codes:
            return None
        raise


def _newest(versions: tuple[Callable[..., Any], ...], handle: Handle) -> list[Any]:
    """Ask the newest version of a call that this driver has."""
    *newer, oldest = versions
    for call in newer:
        answer = _ask_unless(_OLD_DRIVER, call, handle)
        if answer is not None:
            return list(answer)
    return list(_ask(oldest, handle))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
