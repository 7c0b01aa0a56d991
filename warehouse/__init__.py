"""DuckDB: the rows, the prices, the SQL models, the reports and the HTTP API.

Takes Parquet blocks from the inbox, each exactly once, and owns the one database file.
Hands on named reports, the same ones to the dashboard, the alerts, the planner and the command line.

`warehouse.door` is the way in for all but the server: load_once, ask, answer, list_reports, reprice.
Its functions are attributes of this package too, loaded when asked for: `warehouse.rows` must be cheap.
"""

import importlib
from typing import Any

_DOOR = {"answer", "ask", "list_reports", "load_once", "reprice"}


def __getattr__(name: str) -> Any:
    """Find the functions of the door without loading it before one is used."""
    if name in _DOOR:
        return getattr(importlib.import_module("warehouse.door"), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
