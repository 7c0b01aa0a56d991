"""Token figures to one meaning: input holds all of the cache, output holds all of the reasoning.

Whether a source's own figures do is declared by its dialect and overridden only where arithmetic proves it:
an input smaller than its own cache parts cannot hold them, and a total that equals one reading and no other
decides, if it is the provider's total and not a sum that the instrumentation made itself.
"""

from functools import cache

import polars as pl

INPUT = pl.col("input_tokens")
OUTPUT = pl.col("output_tokens")
TOTAL = pl.col("total_tokens")
CACHE = pl.col("cache_read_tokens").fill_null(0) + pl.col("cache_write_tokens").fill_null(0)
REASONING = pl.col("reasoning_tokens").fill_null(0)


def settle_usage(frame: pl.DataFrame) -> pl.DataFrame:
    """Rewrite the token columns in their canonical meaning and say how sure that is.

    Reads the token columns, `extra_input_tokens` and `extra_output_tokens` (billed beside the usage, added
    once), `@includes_cache`, `@includes_reasoning`, `@total_proves` and `@cache_refused`. Adds `inclusivity`,
    `input_tokens_high`, and whether a part was added to what the source said: `@cache_added`,
    `@reasoning_added`.
    """
    for step in _steps():
        frame = frame.with_columns(step)
    return frame


@cache
def _steps() -> tuple[list[pl.Expr], ...]:
    """Make the expressions once: in a small block, making them costs more than computing them."""
    billed = [
        (INPUT + pl.col("extra_input_tokens").fill_null(0)).alias("input_tokens"),
        (OUTPUT + pl.col("extra_output_tokens").fill_null(0)).alias("output_tokens"),
    ]
    proofs = [_cache_proof().alias("@cache_proof"), _reasoning_proof().alias("@proof")]
    includes = pl.coalesce("@cache_proof", "@includes_cache")
    apart = (CACHE > 0) & ~includes.fill_null(True)
    half_known = pl.col("@cache_refused") & ~includes.fill_null(False)
    open_question = (CACHE > 0) & includes.is_null()
    reasoning_apart = ~pl.coalesce("@proof", "@includes_reasoning").fill_null(True)
    input_tokens = pl.when(half_known).then(None).when(apart).then(INPUT + CACHE).otherwise(INPUT)
    settled = [
        (apart & INPUT.is_not_null()).alias("@cache_added"),
        (reasoning_apart & (REASONING > 0) & OUTPUT.is_not_null()).alias("@reasoning_added"),
        input_tokens.alias("input_tokens"),
        pl.when(open_question & ~half_known).then(INPUT + CACHE).alias("input_tokens_high"),
        pl.when(reasoning_apart).then(OUTPUT + REASONING).otherwise(OUTPUT).alias("output_tokens"),
        pl.when(INPUT.is_null())
        .then(None)
        .when(open_question)
        .then(pl.lit("ambiguous"))
        .when(pl.col("@cache_proof").is_not_null())
        .then(pl.lit("proved"))
        .otherwise(pl.lit("declared"))
        .alias("inclusivity"),
    ]
    return billed, proofs, settled


def _total_is(cache_apart: bool, reasoning_apart: bool) -> pl.Expr:  # noqa: FBT001 the two questions
    total = INPUT + OUTPUT
    if cache_apart:
        total += CACHE
    if reasoning_apart:
        total += REASONING
    return (total == TOTAL).fill_null(False)


def _cache_proof() -> pl.Expr:
    inside = _total_is(False, False) | _total_is(False, True)
    apart = _total_is(True, False) | _total_is(True, True)
    asked = pl.col("@total_proves") & (CACHE > 0)
    return (
        pl.when(INPUT < CACHE)
        .then(pl.lit(False))
        .when(asked & inside & ~apart)
        .then(pl.lit(True))
        .when(asked & apart & ~inside)
        .then(pl.lit(False))
    )


def _reasoning_proof() -> pl.Expr:
    inside = _total_is(False, False) | _total_is(True, False)
    apart = _total_is(False, True) | _total_is(True, True)
    asked = pl.col("@total_proves") & (REASONING > 0)
    return (
        pl.when(OUTPUT < REASONING)
        .then(pl.lit(False))
        .when(asked & inside & ~apart)
        .then(pl.lit(True))
        .when(asked & apart & ~inside)
        .then(pl.lit(False))
    )
