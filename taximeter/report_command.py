"""`taximeter report`: a named report on standard output."""

import importlib
import sys
from pathlib import Path

from taximeter import settings
from taximeter.errors import BadInputError


def run(
    name: str | None,
    parameters: dict[str, str | None],
    *,
    output: str,
    url: str | None,
    config: Path | None,
    data: Path | None,
) -> None:
    """Write the report's bytes to standard output, and nothing else.

    Raises:
        TaximeterError: there is no such report, a parameter is wrong, or nobody answers.
    """
    values = settings.load(config, data=data)
    warehouse = importlib.import_module("warehouse")
    given = {key: value for key, value in parameters.items() if value is not None}
    if name is None:
        sys.stdout.write(warehouse.list_reports())
        return
    answer: bytes = warehouse.answer(values, name, given, output, url=url)
    sys.stdout.buffer.write(answer)


def split_parameter(text: str) -> tuple[str, str]:
    """Split `name=value`.

    Raises:
        BadInputError: there is no equals sign.
    """
    name, equals, value = text.partition("=")
    if not equals or not name:
        message = f"--param {text!r} is not name=value, such as task_id=4bf92f35"
        raise BadInputError(message)
    return name, value
