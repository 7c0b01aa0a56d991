"""Numbers as senders really send them: text, whole or real. What cannot be one is refused with a reason.

`-1` means "not known" in several SDKs and is null without fuss. Null stays null: it never becomes 0.
"""

import polars as pl

LARGEST = 1e12  # beyond it no count of tokens, tries, milliseconds or dollars of one span can be
_LARGEST_NS = 9e18  # a BIGINT of nanoseconds ends a little above
_NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_NOT_FINITE = r"^\s*[+-]?(?i:nan|inf|infinity)\s*$"
_UNKNOWN = ("-1", "-1.0")
NS_PER_UNIT = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1, "": 1}


def known(text: pl.Expr) -> pl.Expr:
    """Turn the text of -1, which says that nothing is known, into null."""
    return pl.when(text.is_in(_UNKNOWN)).then(None).otherwise(text)


def count_reason(text: pl.Expr) -> pl.Expr:
    """Say why text is no count (a whole number from 0 to 1e12); null where it is one or is absent."""
    number = _number(text)
    broken = number.is_not_null() & (number != number.floor()) & (number.abs() <= LARGEST)
    return pl.coalesce(_reason(text), pl.when(broken).then(pl.lit("not_a_number")))


def amount_reason(text: pl.Expr, ns_per_unit: pl.Expr) -> pl.Expr:
    """Say why text is no amount (a number from 0 to 1e12, and below 2**63 ns if it is a time)."""
    too_long = _number(text) * ns_per_unit > _LARGEST_NS
    return pl.coalesce(_reason(text), pl.when(too_long).then(pl.lit("too_large")))


def as_count(text: pl.Expr, reason: pl.Expr) -> pl.Expr:
    """Read a count that was not refused."""
    return pl.when(reason.is_null()).then(_number(text)).cast(pl.Int64, strict=False)


def as_ns(text: pl.Expr, reason: pl.Expr, ns_per_unit: pl.Expr) -> pl.Expr:
    """Read a duration that was not refused, rounded to whole nanoseconds."""
    return pl.when(reason.is_null()).then((_number(text) * ns_per_unit).round()).cast(pl.Int64, strict=False)


def shown(text: pl.Expr) -> pl.Expr:
    """Show a refused value: a number or a flag as sent, of any other text only its length."""
    short = text.str.contains(_NUMBER) | text.str.contains(_NOT_FINITE) | text.is_in(["true", "false"])
    return (
        pl.when(short & (text.str.len_bytes() <= 40))  # noqa: PLR2004 no real number is longer
        .then(text)
        .otherwise(pl.format("text of {} bytes", text.str.len_bytes()))
    )


def _number(text: pl.Expr) -> pl.Expr:
    numeric = pl.when(text.str.contains(_NUMBER)).then(text.str.strip_chars())
    return numeric.str.strip_prefix("+").cast(pl.Float64, strict=False)


def _reason(text: pl.Expr) -> pl.Expr:
    number = _number(text)
    return (
        pl.when(text.is_null())
        .then(None)
        .when(text.str.contains(_NOT_FINITE))
        .then(pl.lit("not_finite"))
        .when(number.is_null())
        .then(pl.lit("not_a_number"))
        .when(number < 0)
        .then(pl.lit("negative"))
        .when(number > LARGEST)
        .then(pl.lit("too_large"))
    )
