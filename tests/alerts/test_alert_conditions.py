"""Conditions answer true, false or unknown, and never run anything."""

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.condition import parse_condition
from taximeter.errors import SettingsError

ROW = {"idle_s": 90.0, "state": "spare", "usd": Decimal("3.99"), "gone": None, "flag": True, "ratio": 0.06}


def _ask(text: str, row: dict[str, Any] | None = None) -> bool | None:
    return parse_condition(text, {"idle_after_s": 60.0, "name": "spare"}).test(row or ROW)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("idle_s >= $idle_after_s", True),
        ("idle_s > 1.5min", False),
        ("idle_s >= 1.5min and ratio > 5%", True),
        ("state = 'spare'", True),
        ("state == $name and usd < 4", True),
        ("state != 'spare' or flag = true", True),
        ("not (state in ('lost', 'unknown'))", True),
        ("state in ('spare', 'lost') and not flag = false", True),
        ("idle_s = 90 and not state = 'spare' or usd >= 3.99", True),
        ("gone is null and idle_s is not null", True),
        ("gone > 1", None),
        ("gone in (1, 2)", None),
        ("not gone > 1", None),
        ("gone > 1 or idle_s > 1", True),
        ("gone > 1 and idle_s > 100", False),
        ("gone > 1 and idle_s > 1", None),
        ("state > 5", None),
        ("idle_s = 'x'", None),
        ("idle_s > -1", True),
    ],
)
def test_a_condition_answers_in_three_values(text: str, answer: bool | None) -> None:  # noqa: FBT001
    """Precedence is or, and, not; what is absent or of another kind is unknown, not false."""
    assert _ask(text) is answer


@pytest.mark.parametrize(
    "text",
    [
        "",
        "idle_s",
        "idle_s >",
        "idle_s >> 3",
        "idle_s > 3 4",
        "> 3",
        "idle_s > $nobody",
        "(idle_s > 3",
        "idle_s > other",
        "idle_s > 3parsecs",
        "__import__('os') = 1",
        "idle_s > 3; state = 'x'",
        "and > 3",
        "state in ()",
    ],
)
def test_what_is_no_condition_is_refused_when_it_is_read(text: str) -> None:
    """A mistake is told when the rules are loaded, not when they are needed."""
    with pytest.raises(SettingsError, match="condition"):
        parse_condition(text, {"idle_after_s": 60.0})


def test_a_condition_names_the_columns_it_looks_at() -> None:
    """The columns are known beforehand, so that a report without them is told as such."""
    condition = parse_condition("a > 1 and (b is null or not c in ('x'))", {})

    assert condition.columns == {"a", "b", "c"}


@settings(max_examples=200, deadline=None)
@given(text=st.text(alphabet="ab<>=!'()$. 0159smin%andortulj,", max_size=40))
def test_no_text_breaks_the_reader(text: str) -> None:
    """Any text is a condition or a refusal."""
    try:
        parse_condition(text, {})
    except SettingsError as error:
        assert str(error)  # noqa: PT017


@settings(max_examples=100, deadline=None)
@given(first=st.sampled_from([1.0, 3.0, None]), second=st.sampled_from([1.0, 3.0, None]))
def test_the_laws_of_three_values_hold(first: float | None, second: float | None) -> None:
    """Not (a and b) is not a or not b, whatever is unknown."""
    row = {"a": first, "b": second}

    assert _ask("not (a > 2 and b > 2)", row) is _ask("not a > 2 or not b > 2", row)
    assert _ask("not (a > 2 or b > 2)", row) is _ask("not a > 2 and not b > 2", row)
