"""What a command line says that its process serves: a port and a model's name, and never anything else of it.

Command lines and environments hold keys and passwords. Of one that `servers.toml` knows, a number and a name
that looks like a model's are taken; the rest is dropped here.
"""

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import NamedTuple

_MODEL = re.compile(r"[\w./:@+~-]{1,200}", re.ASCII)
_INTERPRETER = re.compile(r"(python|pypy)[\d.]*$")
_LARGEST_PORT = 65_535
_TAKES_MODULE = "-m"


class Served(NamedTuple):
    """What a process that holds GPU memory serves, each None where it is not known."""

    port: int | None
    model: str | None
    workload: str | None = None  # namespace/pod/container


@dataclass(frozen=True)
class Server:
    """One kind of model server, as `servers.toml` describes it."""

    engine: str
    program: list[list[str]]
    model: list[str] = field(default_factory=list)
    model_env: list[str] = field(default_factory=list)
    word: bool = False
    port: list[str] = field(default_factory=list)
    port_env: list[str] = field(default_factory=list)
    default_port: int | None = None


@cache
def servers() -> tuple[Server, ...]:
    """Read the table.

    Raises:
        TypeError: an entry has a key that does not exist.
    """
    text = files("collector.agent").joinpath("servers.toml").read_text(encoding="utf-8")
    return tuple(Server(**entry) for entry in tomllib.loads(text)["server"])


def read_served(words: Sequence[str], environment: Callable[[], Mapping[str, str]]) -> Served | None:
    """Tell what a command line serves; None where it is no server that the table knows.

    `environment` is asked only of a server, and only for the variables of its table entry.
    """
    said = _without_interpreter(words)
    for server in servers():
        for program in server.program:
            if said[: len(program)] == program:
                return _served(server, said[len(program) :], environment())
    return None


def _served(server: Server, rest: list[str], environment: Mapping[str, str]) -> Served:
    models = [*_options(rest, server.model)]
    if server.word and rest and not rest[0].startswith("-"):
        models.append(rest[0])
    models += [environment[name] for name in server.model_env if name in environment]
    ports = [*_options(rest, server.port)]
    ports += [environment[name] for name in server.port_env if name in environment]
    port = _port(ports[0]) if ports else server.default_port
    return Served(port, _model(models[0]) if models else None)


def _options(rest: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """Give the values of these options, in the order of `names`; of one said twice the last comes first."""
    for name in names:
        for place in reversed(range(len(rest))):
            word = rest[place]
            option, equals, value = word.partition("=")
            if word.startswith("--"):
                option = option.replace("_", "-")
            if option != name:
                continue
            if equals:
                yield value
            elif place + 1 < len(rest):
                yield rest[place + 1]


def _without_interpreter(words: Sequence[str]) -> list[str]:
    """Give the words from the program's own name on: `python -m a.b c` and `/bin/a.b c` are both `a.b c`."""
    left = list(words)
    if left and _INTERPRETER.match(_name(left[0])):
        left.pop(0)
        while left and left[0].startswith("-") and left[0] != _TAKES_MODULE:
            left.pop(0)
        if left and left[0] == _TAKES_MODULE:
            return left[1:]
    return [_name(left[0]), *left[1:]] if left else []


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _port(text: str) -> int | None:
    """Read a port, alone or behind a host name; what is none is unknown, for the default is not it either."""
    digits = text.rpartition(":")[2]
    is_port = digits.isascii() and digits.isdecimal() and 0 < int(digits) <= _LARGEST_PORT
    return int(digits) if is_port else None


def _model(text: str) -> str | None:
    """Take a model's name or path; what may carry a secret, such as an address, is dropped."""
    return text if _MODEL.fullmatch(text) and "://" not in text else None
