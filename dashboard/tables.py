"""Small tables as HTML: every cell escaped, numbers on the right, links inside the same window."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

from dashboard.words import say

Row = dict[str, Any]


class Column(NamedTuple):
    """One column: its title in words.toml and how a row becomes text, a link and a coloured dot."""

    name: str
    show: Callable[[Row], str]
    number: bool = True
    link: Callable[[Row], str] | None = None
    dot: Callable[[Row], str] | None = None
    hint: Callable[[Row], str] | None = None


def html_table(columns: Sequence[Column], rows: Iterable[Row], caption: str) -> str:
    """Write a table; `caption` is read out by screen readers and not drawn."""
    heads = "".join(
        f'<th scope="col"{_side(column)}>{escape(say(f"columns.{column.name}"))}</th>' for column in columns
    )
    lines = "".join("<tr>" + "".join(_cell(column, row) for column in columns) + "</tr>" for row in rows)
    return (
        f'<div class="tx-scroll"><table class="tx"><caption>{escape(caption)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody></table></div>"
    )


def badge(text: str, colour: str, hint: str = "") -> str:
    """Write a small labelled dot."""
    return (
        f'<span class="tx-badge" title="{escape(hint)}">'
        f'<i style="background:{escape(colour)}"></i>{escape(text)}</span>'
    )


def _cell(column: Column, row: Row) -> str:
    text = escape(column.show(row))
    if column.link:
        text = f'<a href="{escape(column.link(row))}" target="_self">{text}</a>'
    if column.dot:
        text = f'<i style="background:{escape(column.dot(row))}"></i>{text}'
    hint = f' title="{escape(column.hint(row))}"' if column.hint else ""
    return f"<td{_side(column)}{hint}>{text}</td>"


def _side(column: Column) -> str:
    return ' class="n"' if column.number else ""
