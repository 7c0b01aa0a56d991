"""Who a span is and when it was: ids of the right length, an end that is not before the start."""

import polars as pl

_REFUSED: dict[str, pl.DataType] = {
    "@row": pl.UInt32(),
    "field": pl.String(),
    "value": pl.String(),
    "reason": pl.String(),
}
_HEX = {"trace_id": 32, "span_id": 16, "parent_span_id": 16}
_LATEST_NS = (1 << 63) - 1  # a BIGINT of nanoseconds, in the year 2262


def refuse_ids(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drop spans that cannot be known by their ids or their start; the rest of the request survives.

    A parent id of the wrong length is refused alone: the span is kept without a parent.

    Returns:
        The spans that stay, and one refused row per bad id or instant.
    """
    start, end, parent = pl.col("@start"), pl.col("@end"), pl.col("@parent_span_id")
    late = (start > _LATEST_NS) | (end > _LATEST_NS)
    told = frame.with_columns(
        _is_bad("trace_id").alias("@bad:trace_id"),
        _is_bad("span_id").alias("@bad:span_id"),
        (_is_bad("parent_span_id") & (parent != "") & ~_is_zero("parent_span_id")).alias(
            "@bad:parent_span_id"
        ),
        ((start == 0) | late).alias("@bad:start_ns"),
        pl.when(~_is_bad("parent_span_id")).then(parent).alias("@parent_span_id"),
        pl.col("@parent_span_id").alias("@parent_sent"),
    )
    sent = {"trace_id": "@trace_id", "span_id": "@span_id", "parent_span_id": "@parent_sent"}
    reasons = {field: pl.lit("bad_id") for field in sent}
    shown = {
        field: pl.format("{} bytes", pl.col(column).str.len_bytes() // 2) for field, column in sent.items()
    }
    reasons["start_ns"] = pl.when(start == 0).then(pl.lit("no_start")).otherwise(pl.lit("too_large"))
    shown["start_ns"] = start.cast(pl.String)
    refused = [
        _refused(told, pl.col(f"@bad:{field}"), field, shown[field], reasons[field])
        for field in reasons
        if told[f"@bad:{field}"].any()
    ]
    fatal = [f"@bad:{field}" for field in ("trace_id", "span_id", "start_ns")]
    kept = told.filter(~pl.any_horizontal(fatal)) if refused else told
    return kept, pl.concat([none_refused(), *refused])


def settle_times(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Set an end before the start to the start and flag it.

    Returns:
        The spans with columns start_ns, end_ns and `@backward`, and one refused row per mended span.
    """
    start, end = pl.col("@start").cast(pl.Int64), pl.col("@end").cast(pl.Int64)
    settled = frame.with_columns(
        (end < start).alias("@backward"), start_ns=start, end_ns=pl.max_horizontal(start, end)
    )
    if not settled["@backward"].any():
        return settled, none_refused()
    sent = pl.col("@end").cast(pl.String)
    return settled, _refused(settled, pl.col("@backward"), "end_ns", sent, pl.lit("end_before_start"))


def none_refused() -> pl.DataFrame:
    """Make a table of refused figures without rows."""
    return pl.DataFrame(schema=_REFUSED)


def _is_zero(field: str) -> pl.Expr:
    return pl.col(f"@{field}").str.strip_chars("0") == ""


def _is_bad(field: str) -> pl.Expr:
    return (pl.col(f"@{field}").str.len_bytes() != _HEX[field]) | _is_zero(field)


def _refused(frame: pl.DataFrame, test: pl.Expr, field: str, value: pl.Expr, reason: pl.Expr) -> pl.DataFrame:
    return frame.filter(test).select("@row", field=pl.lit(field), value=value, reason=reason)
