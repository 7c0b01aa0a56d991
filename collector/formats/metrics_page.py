"""A page of metrics that somebody saved: an exporter's or a serving engine's, in Prometheus' form."""

import re
from collections.abc import Iterator
from typing import BinaryIO

import polars as pl

from collector.formats.gpu_time import to_instants
from collector.formats.parts import Part
from collector.formats.source import NO_TIME
from collector.scrape.page import read_page, to_request
from taximeter.errors import BadInputError

_MOST_BYTES = 64 * 1024 * 1024
_SIGN = re.compile(rb"^# (?:TYPE|HELP) [A-Za-z_:][\w:.]*(?: |$)", re.MULTILINE)


def is_page(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is such a page: its first lines say what its series are."""
    return _SIGN.match(head.lstrip()) is not None


def read_page_file(file: BinaryIO, zone: str | None, taken_at: str | None) -> Iterator[Part]:
    """Read the series of a page, as of `taken_at` where they tell no time of their own.

    Raises:
        BadInputError: it is no page, too large, or nobody says when it was taken.
    """
    if taken_at is None:
        raise BadInputError(NO_TIME)
    t_ns = to_instants(pl.Series([taken_at]), zone).item()
    if t_ns is None:
        message = f"{taken_at!r} is no time; write one such as 2026-12-01T10:00:00Z"
        raise BadInputError(message)
    text = file.read(_MOST_BYTES + 1)
    if len(text) > _MOST_BYTES:
        message = f"a page of more than {_MOST_BYTES:,} bytes"
        raise BadInputError(message)
    page = read_page(text.decode("utf-8", "replace"))
    yield Part("metrics", to_request(page, t_ns, {}, {}), page.series)
