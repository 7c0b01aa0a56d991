"""`taximeter explain`: per span, why a number is what it is and why it counts or does not."""

import importlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

from taximeter import programs, settings
from taximeter.errors import BadInputError, NotFoundError
from taximeter.explain_text import write_tasks
from taximeter.layout import DataFolder
from taximeter.settings import Settings

TEXT = "text"
_ID_DIGITS = 32


def run(what: str, *, output: str, url: str | None, config: Path | None, data: Path | None) -> None:
    """Explain a recording, read into a folder that is thrown away, or a trace that is loaded already.

    Raises:
        TaximeterError: it is neither, nothing in it is a span, or nobody answers.
    """
    values = settings.load(config, data=data)
    file = Path(what)
    if file.exists():
        with _imported(file, values, config) as own:
            _write(own, {}, output, None, f"no span was found in {what}")
        return
    trace_id = what.strip().lower().replace("-", "")
    if len(trace_id) != _ID_DIGITS or not set(trace_id) <= set("0123456789abcdef"):
        message = f"{what!r} is neither a file that is there nor a trace id (32 hex digits)"
        raise BadInputError(message)
    _write(values, {"trace_id": trace_id}, output, url, f"no trace {trace_id} is loaded")


@contextmanager
def _imported(file: Path, values: Settings, config: Path | None) -> Iterator[Settings]:
    """Read a file into a folder of its own and hand out settings that ask that folder alone."""
    with tempfile.TemporaryDirectory(prefix="taximeter-explain-") as folder:
        arguments = [str(file), "--data", folder]
        if config is not None:
            arguments += ["--config", str(config)]
        with redirect_stdout(sys.stderr):
            programs.run("collector.importing", arguments)
        if not any(DataFolder(Path(folder)).inbox.glob("*")):
            message = f"no span was found in {file}"
            raise NotFoundError(message)
        warehouse = values.warehouse.model_copy(update={"url": None})
        own = values.model_copy(update={"data": Path(folder), "warehouse": warehouse})
        importlib.import_module("warehouse").load_once(own)
        yield own


def _write(values: Settings, parameters: dict[str, str], output: str, url: str | None, nothing: str) -> None:
    warehouse: Any = importlib.import_module("warehouse")
    if output != TEXT:
        sys.stdout.buffer.write(warehouse.answer(values, "explain", parameters, output, url=url))
        return
    spans = warehouse.ask(values, "explain", parameters, url=url).to_pylist()
    if not spans:
        raise NotFoundError(nothing)
    of_task = {"task_id": spans[0]["task_id"]} if parameters else {}
    tasks = warehouse.ask(values, "tasks", of_task, url=url).to_pylist()
    sys.stdout.write(write_tasks(tasks, spans))
