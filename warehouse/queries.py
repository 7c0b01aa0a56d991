"""The one reader of SQL files: statements by the name of their file."""

from functools import cache
from pathlib import Path

FOLDER = Path(__file__).parent / "sql"


@cache
def query(name: str) -> str:
    """Read the statement `sql/<name>.sql`, such as load/advance."""
    return (FOLDER / f"{name}.sql").read_text(encoding="utf-8")
