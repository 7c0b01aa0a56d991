# ruff: noqa: TID251  pynvml's home is collector.agent.nvml and its parts, of which this is one
"""How a call of pynvml is made: its exception becomes ours, which can be hashed, compared and looked up."""

from collections.abc import Callable
from typing import Any

import pynvml

from collector.agent.binding import DriverError

# What a driver answers that has no such figure for this card, or no such call at all.
NOT_TOLD = {
    pynvml.NVML_ERROR_NOT_SUPPORTED,
    pynvml.NVML_ERROR_NOT_FOUND,
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
}
# What a driver answers that is older than the call or its struct.
OLD_DRIVER = {
    pynvml.NVML_ERROR_FUNCTION_NOT_FOUND,
    pynvml.NVML_ERROR_ARGUMENT_VERSION_MISMATCH,
    pynvml.NVML_ERROR_DEPRECATED,
}


def ask(call: Callable[..., Any], *arguments: Any) -> Any:
    """Make one call.

    Raises:
        DriverError: the driver refused, with its code and the name of the call.
    """
    try:
        return call(*arguments)
    except pynvml.NVMLError as error:
        raise DriverError(error.value, call.__name__) from None


def ask_unless(codes: set[int], call: Callable[..., Any], *arguments: Any) -> Any:
    """Make one call; None where it is refused with one of these codes.

    Raises:
        DriverError: the driver refused with another code.
    """
    try:
        return ask(call, *arguments)
    except DriverError as error:
        if error.code in codes:
            return None
        raise
