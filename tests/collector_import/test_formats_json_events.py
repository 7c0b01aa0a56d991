"""JSON is read element by element and says exactly what the whole document would have said."""

import io
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.formats.json_events import Element, read_elements
from collector.formats.parts import Bad
from taximeter.errors import BadInputError

_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
_DOCUMENTS = st.dictionaries(st.text(), _VALUES, max_size=4)


class Trickle(io.BytesIO):
    """A file that never gives more than a few bytes at once, so that every token is cut somewhere."""

    def __init__(self, data: bytes, step: int) -> None:
        super().__init__(data)
        self._step = step

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(self._step if size is None or size < 0 else min(size, self._step))

    def readline(self, size: int | None = -1, /) -> bytes:
        return super().readline(min(size or 0, 0))


def _pairs(document: dict[str, Any]) -> list[tuple[str, Any]]:
    return [
        (key, element)
        for key, value in document.items()
        for element in (value if isinstance(value, list) else [value])
    ]


def _read(file: io.BytesIO) -> list[tuple[str, Any]]:
    found = list(read_elements(file))
    assert not any(isinstance(item, Bad) for item in found)
    return [(item.key, item.value) for item in found if isinstance(item, Element)]


@settings(max_examples=150, deadline=None)
@given(
    document=_DOCUMENTS, step=st.integers(1, 7), indent=st.sampled_from([None, 1]), ascii_only=st.booleans()
)
def test_wherever_the_bytes_are_cut_the_elements_are_the_same(
    document: dict[str, Any], step: int, indent: int | None, *, ascii_only: bool
) -> None:
    """Reading in pieces of any size gives the elements of the whole document, in order."""
    data = json.dumps(document, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "replace")

    assert _read(Trickle(data, step)) == _pairs(json.loads(data))


@settings(max_examples=80, deadline=None)
@given(documents=st.lists(_DOCUMENTS, min_size=1, max_size=4))
def test_lines_and_one_array_of_documents_say_the_same(documents: list[dict[str, Any]]) -> None:
    """A document a line, an array of documents and documents one after another give equal elements."""
    pairs = [pair for document in documents for pair in _pairs(document)]
    texts = [json.dumps(document) for document in documents]

    assert _read(io.BytesIO("\n".join(texts).encode())) == pairs
    assert _read(Trickle(f"[{', '.join(texts)}]".encode(), 3)) == pairs
    assert _read(Trickle("".join(texts).encode(), 3)) == pairs


def test_a_bad_line_is_told_and_the_next_is_read() -> None:
    """One broken line of many costs that line alone."""
    found = list(read_elements(io.BytesIO(b'{"a": [1]}\n{"a": [2\n\n{"a": [3]}\n')))

    assert [item.value for item in found if isinstance(item, Element)] == [1, 3]
    assert [item.where for item in found if isinstance(item, Bad)] == ["line 2"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b'{"a": [1, 2,', "the file is cut"),
        (b'{"a": [1, 2], "b', "the file is cut"),
        (b'{"a": [1, 2], "b" 3}', "expected a key and a colon"),
        (b'{"a": [1, \xff\xfe]}\n', "not UTF-8"),
        (b'{"a": ' + b"[" * 100_000, "nested too deeply"),
    ],
)
def test_a_broken_document_says_where(text: bytes, reason: str) -> None:
    """What cannot be read is an error that names the reason and the place, never a silent end."""
    with pytest.raises(BadInputError, match=f"{reason}.* near character"):
        list(read_elements(io.BytesIO(text)))


def test_what_stood_before_the_break_is_handed_on() -> None:
    """A cut document still gives the elements that were whole."""
    values = []
    elements = read_elements(io.BytesIO(b'{"a": [{"x": 1}, {"x": 2}, {"x"'))
    with pytest.raises(BadInputError):
        values.extend(element.value for element in elements if isinstance(element, Element))

    assert values == [{"x": 1}, {"x": 2}]
