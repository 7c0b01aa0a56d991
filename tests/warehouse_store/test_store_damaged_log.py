"""A database whose write-ahead log is damaged says what to do, and does what it says."""

import subprocess
import sys
from pathlib import Path

import pytest

from taximeter.errors import TaximeterError
from warehouse.testing import store

# Ends without closing the database, as a crash does: its log stays.
LOAD = """
import os, sys
from pathlib import Path
from warehouse.testing import store
from warehouse.testing_rows import llm, spans
with store(Path(sys.argv[1])) as warehouse:
    warehouse.load(spans(llm("a", 0, 1)))
    warehouse.connection.execute("checkpoint")
    warehouse.load(spans(llm("b", 2, 3)))
    os._exit(9)
"""


def test_a_damaged_log_is_told_with_the_way_out(tmp_path: Path) -> None:
    """The message names the file to move away; without it the warehouse has what was checkpointed."""
    subprocess.run([sys.executable, "-c", LOAD, str(tmp_path)], check=False, timeout=60)
    log = tmp_path / "taximeter.duckdb.wal"
    content = bytearray(log.read_bytes())
    content[len(content) // 2] ^= 16
    log.write_bytes(content)
    with pytest.raises(TaximeterError, match=r"move taximeter.duckdb.wal away"), store(tmp_path):
        pass
    log.rename(tmp_path / "aside")
    with store(tmp_path) as warehouse:
        assert warehouse.sql("select name from spans") == [("a",)]
