"""How many tries of its call a span tells of itself: the largest of its signals, never their sum."""

import polars as pl

from collector.decode.flat import FlatTraces
from collector.decode.numbers import as_count, count_reason, known
from collector.decode.wide import as_text, named_events
from collector.decode.words import error_type
from collector.dialects.read import Attempts, Dialect


def read_attempts(frame: pl.DataFrame, flat: FlatTraces, dialects: tuple[Dialect, ...]) -> pl.DataFrame:
    """Settle `attempts` (tries, this one included) and `attempt_errors` from attributes and span events."""
    told = [dialect for dialect in dialects if dialect.attempts is not None]
    seen = frame["@dialect"].unique().to_list()
    events = [
        _of_dialect(flat, dialect.id, dialect.attempts)
        for dialect in told
        if dialect.id in seen and dialect.attempts
    ]
    schema: dict[str, pl.DataType] = {
        "owner": pl.UInt32(),
        "@dialect": pl.String(),
        "tries": pl.Int64(),
        "attempt_errors": pl.List(pl.String()),
    }
    per_span = pl.concat([pl.DataFrame(schema=schema), *events], how="vertical_relaxed")
    joined = frame.join(
        per_span,
        left_on=["@row", "@dialect"],
        right_on=["owner", "@dialect"],
        how="left",
        maintain_order="left",
    )
    return joined.with_columns(
        attempts=pl.max_horizontal("attempts", pl.col("retries") + 1, "tries"),
    )


def _of_dialect(flat: FlatTraces, dialect: str, attempts: Attempts) -> pl.DataFrame:
    events = named_events(flat).filter(pl.col("event_name") == attempts.event)
    texts = as_text(events).select("owner", "event", "attribute", "text")
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
