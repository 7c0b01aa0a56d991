"""Conditions on the columns of one row: a small language with three answers, never evaluated as code.

    idle_s >= $idle_after_s and not state in ('lost', 'unknown')

Comparisons are column, operator, value; a value is a quantity (60s, 5%), a 'text', true, false or a $name
that the rule or the settings give. `and`, `or`, `not` and parentheses join them. A comparison with an absent
value is neither true nor false but unknown, and only `is null` and `is not null` see absence itself.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, NamedTuple, NoReturn

from alerts.quantity import read_quantity
from taximeter.errors import SettingsError

Row = Mapping[str, Any]
Answer = bool | None
Value = float | str | bool
Test = Callable[[Row], Answer]

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'[^']*')|(?P<number>[-+]?(?:\d+\.?\d*|\.\d+)(?:ms|min|s|h|d|%)?(?!\w))"
    r"|(?P<symbol>\(|\)|,|<=|>=|!=|==|=|<|>)|(?P<name>\$?[A-Za-z_]\w*))"
)
_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
}
_FLAGS = {"true": True, "false": False}
_WORDS = {"and", "or", "not", "is", "in", "null", "true", "false"}


class Condition(NamedTuple):
    """A condition that was read: its text, the columns it looks at, and its test."""

    text: str
    columns: frozenset[str]
    test: Test


def parse_condition(text: str, values: Mapping[str, Value]) -> Condition:
    """Read a condition; `values` are what its $names stand for.

    Raises:
        SettingsError: the text is no condition; the message says near what.
    """
    parser = _Parser(text, values)
    test = parser.alternatives()
    parser.expect_end()
    return Condition(text, frozenset(parser.columns), test)


class _Parser:
    """Recursive descent over the tokens: or, and, not, comparison."""

    def __init__(self, text: str, values: Mapping[str, Value]) -> None:
        self._text = text
        self._values = values
        self._tokens = self._split(text)
        self._at = 0
        self.columns: set[str] = set()

    def alternatives(self) -> Test:
        tests = [self._all_of()]
        while self._take("or"):
            tests.append(self._all_of())
        return tests[0] if len(tests) == 1 else lambda row: _any([test(row) for test in tests])

    def expect_end(self) -> None:
        if self._at < len(self._tokens):
            self._fail("expected the end")

    def _all_of(self) -> Test:
        tests = [self._single()]
        while self._take("and"):
            tests.append(self._single())
        return tests[0] if len(tests) == 1 else lambda row: _all([test(row) for test in tests])

    def _single(self) -> Test:
        if self._take("not"):
            inner = self._single()
            return lambda row: _negate(inner(row))
        if self._take("("):
            inner = self.alternatives()
            self._need(")")
            return inner
        return self._comparison()

    def _comparison(self) -> Test:
        column = self._next()
        if not re.fullmatch(r"[A-Za-z_]\w*", column) or column in _WORDS:
            self._fail("expected a column", back=1)
        self.columns.add(column)
        if self._take("is"):
            absent = not self._take("not")
            self._need("null")
            return lambda row: (row[column] is None) is absent
        if self._take("in"):
            choices = self._choices()
            return lambda row: None if (plain := _plain(row[column])) is None else plain in choices
        compare = _OPERATORS.get(self._next())
        if compare is None:
            self._fail("expected one of < <= > >= = != is in", back=1)
        value = self._value()
        return lambda row: _compare(compare, row[column], value)

    def _choices(self) -> set[Any]:
        self._need("(")
        choices = {self._value()}
        while self._take(","):
            choices.add(self._value())
        self._need(")")
        return choices

    def _value(self) -> Value:
        token = self._next()
        if token.startswith("'"):
            return token[1:-1]
        if token in _FLAGS:
            return _FLAGS[token]
        if token.startswith("$"):
            if token[1:] not in self._values:
                self._fail(f"nothing is named {token}", back=1)
            return self._values[token[1:]]
        if re.match(r"[-+.\d]", token):
            return read_quantity(token)
        return self._fail("expected a value", back=1)

    def _split(self, text: str) -> list[str]:
        tokens, at = [], 0
        while text[at:].strip():
            match = _TOKEN.match(text, at)
            if match is None:
                message = f"condition {text!r}: cannot read {text[at:].strip()!r}"
                raise SettingsError(message)
            tokens.append(match[0].strip())
            at = match.end()
        return tokens

    def _next(self) -> str:
        self._at += 1
        return self._tokens[self._at - 1] if self._at <= len(self._tokens) else ""

    def _take(self, token: str) -> bool:
        found = self._at < len(self._tokens) and self._tokens[self._at] == token
        self._at += found
        return found

    def _need(self, token: str) -> None:
        if not self._take(token):
            self._fail(f"expected {token}")

    def _fail(self, reason: str, back: int = 0) -> NoReturn:
        near = " ".join(self._tokens[max(self._at - back, 0) :]) or "the end"
        message = f"condition {self._text!r}: {reason} near {near!r}"
        raise SettingsError(message)


def _plain(value: Any) -> Any:
    """Bring a cell to what rules compare with, numbers as floats; null where it is none of that."""
    if isinstance(value, bool | str):
        return value
    number = float(value) if isinstance(value, int | float | Decimal) else None
    return None if number is None or math.isnan(number) else number


def _compare(compare: Callable[[Any, Any], bool], cell: Any, value: Value) -> Answer:
    plain = _plain(cell)
    if plain is None or isinstance(plain, str) is not isinstance(value, str):
        return None
    return compare(plain, value)


def _any(answers: list[Answer]) -> Answer:
    if any(answers):
        return True
    return None if None in answers else False


def _all(answers: list[Answer]) -> Answer:
    if False in answers:
        return False
    return None if None in answers else True


def _negate(answer: Answer) -> Answer:
    return None if answer is None else not answer
