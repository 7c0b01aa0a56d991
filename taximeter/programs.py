"""Which programs there are, and how one is started by name without importing it here."""

import importlib
import sys
from typing import NamedTuple

from taximeter.errors import NotFoundError


class Program(NamedTuple):
    """One program of the house: its name, the module that is it, and what it does in one line."""

    name: str
    module: str
    about: str


PROGRAMS = (
    Program("collector", "collector.__main__", "Take OTLP in (4317, 4318), keep it safe, decode it."),
    Program("agent", "collector.agent.__main__", "Sample the GPUs of this machine and send them on."),
    Program("warehouse", "warehouse.__main__", "Load, compute and answer reports (8080)."),
    Program("alerts", "alerts.__main__", "Watch the rules and tell Slack and webhooks."),
    Program("dashboard", "dashboard.__main__", "Show why, in the browser (8501)."),
)


def find(name: str) -> Program:
    """Find a program by its name.

    Raises:
        NotFoundError: there is none of that name.
    """
    for program in PROGRAMS:
        if program.name == name:
            return program
    message = f"there is no program {name}; there are {', '.join(program.name for program in PROGRAMS)}"
    raise NotFoundError(message)


def run(module: str, arguments: list[str]) -> int:
    """Run `main(arguments)` of a module in this process and return its exit status."""
    status = importlib.import_module(module).main(arguments)
    return int(status or 0)


def command(module: str, arguments: list[str]) -> list[str]:
    """Write the command line that runs a module in a process of its own."""
    return [sys.executable, "-m", module.removesuffix(".__main__"), *arguments]
