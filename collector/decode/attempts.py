"""How many tries of its call a span tells of itself: the largest of its signals, never their sum."""

import polars as pl

from collector.decode.numbers import as_count, count_reason, known
from collector.decode.wide import as_text
from collector.decode.words import error_type
from collector.dialects.read import Attempts, Dialect


def read_attempts(frame: pl.DataFrame, events: pl.DataFrame, dialects: tuple[Dialect, ...]) -> pl.DataFrame:
    """Settle `attempts` (tries, this one included) and `attempt_errors` from attributes and span events."""
    seen = frame["@dialect"].unique().to_list()
    names = set(events["event_name"].unique().to_list()) if len(events) else set()
    told = [
        _of_dialect(events, dialect.id, dialect.attempts)
        for dialect in dialects
        if dialect.attempts and dialect.attempts.event in names and dialect.id in seen
    ]
    signals = [pl.col("attempts"), pl.col("retries") + 1]
    if not told:
        errors = pl.lit(None, pl.List(pl.String))
        return frame.with_columns(attempts=_largest(signals), attempt_errors=errors)
    joined = frame.join(
        pl.concat(told),
        left_on=["@row", "@dialect"],
        right_on=["owner", "@dialect"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(attempts=_largest([*signals, pl.col("tries")]))


def _largest(signals: list[pl.Expr]) -> pl.Expr:
    """Take the largest signal; a call that was told of was tried once at least, so 0 tells nothing."""
    largest = pl.max_horizontal(signals)
    return pl.when(largest >= 1).then(largest)


def _of_dialect(events: pl.DataFrame, dialect: str, attempts: Attempts) -> pl.DataFrame:
    texts = as_text(events.filter(pl.col("event_name") == attempts.event))
    number = known(pl.col("text"))
    counted = as_count(number, count_reason(number)) + (1 if attempts.zero_based else 0)
    tries = (
        texts.filter(pl.col("attribute") == attempts.number)
        .group_by("owner")
        .agg(tries=pl.max_horizontal(counted.max(), pl.col("event").n_unique().cast(pl.Int64)))
    )
    errors = (
        texts.with_columns(error=error_type(pl.col("text")))
        .filter(pl.col("attribute").is_in(attempts.errors) & pl.col("error").is_not_null())
        .with_columns(
            rank=pl.col("attribute").replace_strict({key: n for n, key in enumerate(attempts.errors)})
        )
        .sort("event", "rank")
        .unique(["owner", "event"], keep="first", maintain_order=True)
        .group_by("owner", maintain_order=True)
        .agg(attempt_errors=pl.col("error"))
    )
    return tries.join(errors, on="owner", how="left").select(
        "owner", pl.lit(dialect).alias("@dialect"), "tries", "attempt_errors"
    )
