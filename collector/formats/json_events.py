"""JSON of any length as a stream of its top-level elements, so that memory holds one element, not the file.

A file is either lines (each a document) or one document that may be far larger than memory. Of a document, an
array under a top-level key is handed on element by element, everything else whole.
"""

import codecs
import json
from collections.abc import Iterator
from typing import Any, BinaryIO, NamedTuple, NoReturn

from collector.formats.parts import Bad
from taximeter.errors import BadInputError

MAX_ELEMENT_CHARS = 256 * 1024 * 1024
_READ_BYTES = 1024 * 1024
_FIRST_LINE_BYTES = 16 * 1024 * 1024
_SPACE = " \t\r\n"
_AFTER_NUMBER = _SPACE + ",]}"
_DECODER = json.JSONDecoder()


class Element(NamedTuple):
    """One value under a top-level key: an element of the key's array, or the key's whole value.

    A whole document has no key.
    """

    where: str
    key: str
    value: Any


def read_elements(file: BinaryIO) -> Iterator[Element | Bad]:
    """Hand on a file's elements in their order; a bad line is told and passed over.

    Raises:
        BadInputError: one document that is cut or malformed; what came before it has been handed on.
    """
    first = file.readline(_FIRST_LINE_BYTES).removeprefix(codecs.BOM_UTF8)
    if (document := _whole(first)) is not None:
        yield from _of_document("line 1", document)
        yield from _read_lines(file)
    else:
        yield from _Scanner(file, first).read()


def read_whole(file: BinaryIO) -> Iterator[Element | Bad]:
    """Hand on whole documents, of an array its elements one by one; their key is empty.

    Raises:
        BadInputError: one document that is cut or malformed; what came before it has been handed on.
    """
    first = file.readline(_FIRST_LINE_BYTES).removeprefix(codecs.BOM_UTF8)
    if (document := _whole(first)) is None:
        yield from _Scanner(file, first).read_whole()
        return
    for value in document if isinstance(document, list) else [document]:
        yield Element("line 1", "", value)
    for found in _lines(file):
        yield found if isinstance(found, Bad) else Element(found.where, "", found.value)


def _whole(line: bytes) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _of_document(where: str, document: Any) -> Iterator[Element]:
    for part in document if isinstance(document, list) else [document]:
        if not isinstance(part, dict):
            continue
        for key, value in part.items():
            for element in value if isinstance(value, list) else [value]:
                yield Element(where, key, element)


def _read_lines(file: BinaryIO) -> Iterator[Element | Bad]:
    for found in _lines(file):
        if isinstance(found, Bad):
            yield found
        else:
            yield from _of_document(found.where, found.value)


def _lines(file: BinaryIO) -> Iterator[Element | Bad]:
    number = 1
    while line := file.readline(MAX_ELEMENT_CHARS):
        number += 1
        if not line.strip():
            continue
        try:
            document = json.loads(line)
        except (ValueError, RecursionError) as error:
            yield Bad(f"line {number}", f"not JSON: {error}")
        else:
            yield Element(f"line {number}", "", document)


class _Scanner:
    """Walks one document, keeping only the text of the element at hand."""

    def __init__(self, file: BinaryIO, first: bytes) -> None:
        self._file = file
        self._text = codecs.getincrementaldecoder("utf-8")()
        self._buffer = ""
        self._at = 0
        self._passed = 0
        self._done = False
        if first:
            self._take(first)

    def read(self) -> Iterator[Element]:
        while (char := self._peek()) is not None:
            if char == "[":
                self._at += 1
                yield from self._array_of_documents()
            elif char == "{":
                self._at += 1
                yield from self._object()
            else:
                self._fail("expected a document")

    def read_whole(self) -> Iterator[Element]:
        while (char := self._peek()) is not None:
            if char == "[":
                self._at += 1
                while self._comma_until("]"):
                    yield self._whole_element()
            elif char == "{":
                yield self._whole_element()
            else:
                self._fail("expected a document")

    def _whole_element(self) -> Element:
        self._peek()
        return Element(f"character {self._passed + self._at}", "", self._value())

    def _array_of_documents(self) -> Iterator[Element]:
        while self._comma_until("]"):
            if self._peek() == "{":
                self._at += 1
                yield from self._object()
            else:
                self._value()

    def _object(self) -> Iterator[Element]:
        while self._comma_until("}"):
            key = self._value()
            if not isinstance(key, str) or self._peek() != ":":
                self._fail("expected a key and a colon")
            self._at += 1
            if self._peek() == "[":
                self._at += 1
                while self._comma_until("]"):
                    where = f"character {self._passed + self._at}"
                    yield Element(where, key, self._value())
            else:
                where = f"character {self._passed + self._at}"
                yield Element(where, key, self._value())

    def _comma_until(self, end: str) -> bool:
        """Step over a separator; false, past the bracket, where the list or object ends."""
        char = self._peek()
        if char == ",":
            self._at += 1
            char = self._peek()
        if char is None:
            self._fail("the file is cut")
        if char == end:
            self._at += 1
            return False
        return True

    def _value(self) -> Any:
        self._peek()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
            except RecursionError:
                self._fail("nested too deeply")
            except ValueError as error:
                if self._grow():
                    continue
                reason = "the file is cut" if self._done else str(error)
                self._fail(f"not JSON: {reason}")
            if isinstance(value, int | float) and not self._ends_number(end) and self._grow():
                continue
            self._at = end
            return value

    def _ends_number(self, end: int) -> bool:
        """Whether a number is over; cut before or within its fraction it would read as a smaller one."""
        return end < len(self._buffer) and self._buffer[end] in _AFTER_NUMBER

    def _peek(self) -> str | None:
        while True:
            while self._at < len(self._buffer) and self._buffer[self._at] in _SPACE:
                self._at += 1
            if self._at < len(self._buffer):
                return self._buffer[self._at]
            if not self._grow():
                return None

    def _grow(self) -> bool:
        """Read as much again as lies unread, so that the work stays linear in the size of an element."""
        if self._done:
            return False
        left = len(self._buffer) - self._at
        if left > MAX_ELEMENT_CHARS:
            self._fail(f"one element is longer than {MAX_ELEMENT_CHARS} characters")
        return self._take(self._file.read(max(_READ_BYTES, left)))

    def _take(self, data: bytes) -> bool:
        try:
            text = self._text.decode(data, final=not data)
        except UnicodeDecodeError:
            self._fail("not UTF-8")
        self._done = not data
        self._passed += self._at
        self._buffer = self._buffer[self._at :] + text
        self._at = 0
        return bool(data)

    def _fail(self, reason: str) -> NoReturn:
        message = f"{reason} near character {self._passed + self._at}"
        raise BadInputError(message) from None
