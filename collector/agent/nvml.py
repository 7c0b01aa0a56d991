"""The real driver: what every card and every driver tells, with the detours that old drivers need."""

from collections.abc import Callable
from typing import Any

import pynvml

from collector.agent.binding import Card, DriverError, Handle, Memory, Process, Utilization
from collector.agent.nvml_call import NOT_TOLD, OLD_DRIVER, ask, ask_unless
from collector.agent.reactions import reaction

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
            ask(pynvml.nvmlInitWithFlags, pynvml.NVML_INIT_FLAG_NO_ATTACH)

    def stop(self) -> None:
        """Let the driver go."""
        ask(pynvml.nvmlShutdown)

    def count(self) -> int:
        """Cards the driver lists."""
        return int(ask(pynvml.nvmlDeviceGetCount))

    def handle(self, index: int) -> Handle:
        """Open the card that is at `index` now."""
        return ask(pynvml.nvmlDeviceGetHandleByIndex, index)

    def card(self, handle: Handle, index: int) -> Card:
        """Ask a card who it is; a name or bus id that it does not tell stays None."""
        uuid = str(ask(pynvml.nvmlDeviceGetUUID, handle))
        bus = ask_unless(NOT_TOLD, pynvml.nvmlDeviceGetPciInfo, handle)
        name = ask_unless(NOT_TOLD, pynvml.nvmlDeviceGetName, handle)
        return Card(uuid, _text(bus.busId) if bus else None, index, _text(name) if name else None)

    def utilization(self, handle: Handle) -> Utilization:
        """Ask how busy the card was."""
        rates = ask(pynvml.nvmlDeviceGetUtilizationRates, handle)
        return Utilization(rates.gpu, rates.memory)

    def memory(self, handle: Handle) -> Memory:
        """Ask how its memory is divided.

        An old driver's first struct counts the driver's reserve as used, 0.4 to 1 GiB on an empty card:
        of it only the total is taken.
        """
        info = ask_unless(OLD_DRIVER, pynvml.nvmlDeviceGetMemoryInfo, handle, pynvml.nvmlMemory_v2)
        if info is None:
            return Memory(ask(pynvml.nvmlDeviceGetMemoryInfo, handle).total, None, None)
        return Memory(info.total, info.used, info.reserved)

    def power_mw(self, handle: Handle) -> int:
        """Ask what it draws, in milliwatts."""
        return int(ask(pynvml.nvmlDeviceGetPowerUsage, handle))

    def power_limit_mw(self, handle: Handle) -> int:
        """Ask what it may draw at most, in milliwatts."""
        return int(ask(pynvml.nvmlDeviceGetEnforcedPowerLimit, handle))

    def energy_mj(self, handle: Handle) -> int:
        """Ask for the millijoules since the driver was loaded."""
        return int(ask(pynvml.nvmlDeviceGetTotalEnergyConsumption, handle))

    def is_split(self, handle: Handle) -> bool:
        """Ask whether the card is cut into MIG instances; one that cannot be is not."""
        modes = ask_unless(NOT_TOLD, pynvml.nvmlDeviceGetMigMode, handle)
        return modes is not None and modes[0] == pynvml.NVML_DEVICE_MIG_ENABLE

    def processes(self, handle: Handle) -> list[Process]:
        """List the processes that compute, draw or share through MPS, each once with the most memory told."""
        listed = list(_newest(_COMPUTE_LISTS, handle))
        for others in _OTHER_LISTS:
            # Another list than the compute one may be missing on a card that has no use for it.
            try:
                listed += _newest(others, handle)
            except DriverError as error:
                if error.code not in NOT_TOLD:
                    raise
        held: dict[int, int | None] = {}
        for process in listed:
            told = [size for size in (held.get(process.pid), process.usedGpuMemory) if size is not None]
            held[process.pid] = max(told, default=None)
        return [Process(pid, size) for pid, size in held.items()]


def _newest(versions: tuple[Callable[..., Any], ...], handle: Handle) -> list[Any]:
    """Ask the newest version of a call that this driver has."""
    *newer, oldest = versions
    for call in newer:
        answer = ask_unless(OLD_DRIVER, call, handle)
        if answer is not None:
            return list(answer)
    return list(ask(oldest, handle))


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)
