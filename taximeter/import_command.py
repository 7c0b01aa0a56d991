"""`taximeter import`: files become blocks in the inbox, and the inbox becomes reports."""

import importlib
from pathlib import Path

from taximeter import programs, settings
from taximeter.errors import BusyError
from taximeter.layout import DataFolder
from taximeter.say import say


def run(
    paths: list[Path],
    config: Path | None,
    data: Path | None,
    zone: str | None = None,
    *,
    at: str | None = None,
    kind: str | None = None,
    by_map: str | None = None,
) -> int:
    """Read the files; load them here if no warehouse runs, else leave that to the one that does.

    Sample times that name no zone are read in `zone`, else in that of the settings; files that tell no time
    were taken `at` that. With `kind` and `by_map` all files are requests or GPU figures that the map tells
    the columns of.
    Returns the exit status: 0 if anything was read and nothing recognised was broken.
    """
    values = settings.load(config, data=data)
    arguments = [str(path) for path in paths] + ["--data", str(values.data), "--zone", zone or values.zone]
    arguments += [f"--at={at}"] if at else []
    arguments += [f"--as={kind}"] if kind else []
    arguments += [f"--map={by_map}"] if by_map else []
    if config is not None:
        arguments += ["--config", str(config)]
    status = programs.run("collector.importing", arguments)
    try:
        importlib.import_module("warehouse").load_once(values)
    except BusyError:
        say("The running warehouse loads it; ask `taximeter report tasks`.")
    else:
        say(f"Loaded into {DataFolder(values.data).database}; ask `taximeter report tasks`.")
    return status
