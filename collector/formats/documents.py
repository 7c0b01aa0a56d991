"""JSON as whole documents: lines, the elements of one array, or one object; each with where it stands."""

from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple

from collector.formats.json_events import Element, read_whole
from collector.formats.parts import Bad


class Document(NamedTuple):
    """One JSON object of a file."""

    where: str
    value: dict[str, Any]


def read_documents(file: BinaryIO) -> Iterator[Document | Bad]:
    """Hand on a file's objects in their order; what is none is passed over, a bad line is told.

    An answer of an API that wraps its rows (`{"data": [...]}`) is read row by row.

    Raises:
        BadInputError: one document that is cut or malformed; what came before it has been handed on.
    """
    for found in read_whole(file):
        if isinstance(found, Bad):
            yield found
        elif isinstance(found.value, dict):
            yield from _rows(found)


def _rows(found: Element) -> Iterator[Document]:
    rows = found.value.get("data")
    if not isinstance(rows, list):
        yield Document(found.where, found.value)
        return
    for position, row in enumerate(rows):
        if isinstance(row, dict):
            yield Document(f"{found.where}, row {position}", row)
