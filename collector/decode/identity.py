"""Who a span is and when it was: ids of the right length, an end that is not before the start."""

import polars as pl

_COLUMNS = ("field", "value", "reason")
_HEX = {"trace_id": 32, "span_id": 16, "parent_span_id": 16}
_LATEST_NS = (1 << 63) - 1  # a BIGINT of nanoseconds, in the year 2262


def refuse_ids(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Drop spans that cannot be known by their ids or their start; the rest of the request survives.

    A parent id of the wrong length is refused alone: the span is kept without a parent.

    Returns:
        The spans that stay, and one refused row per bad id or instant.
    """
    bad = {field: _is_bad(field) for field in ("trace_id", "span_id")}
    bad_parent = _is_bad("parent_span_id") & (pl.col("@parent_span_id") != "") & ~_is_zero("parent_span_id")
    no_start = (pl.col("@start") == 0) | (pl.col("@start") > _LATEST_NS) | (pl.col("@end") > _LATEST_NS)
    size = {field: pl.format("{} bytes", pl.col(f"@{field}").str.len_bytes() // 2) for field in _HEX}
    refused = [
        _refused(frame, test, field, size[field], pl.lit("bad_id"))
        for field, test in {**bad, "parent_span_id": bad_parent}.items()
    ]
    reason = pl.when(pl.col("@start") == 0).then(pl.lit("no_start")).otherwise(pl.lit("too_large"))
    refused.append(_refused(frame, no_start, "start_ns", pl.col("@start").cast(pl.String), reason))
    parent = pl.col("@parent_span_id")
    kept = frame.filter(~bad["trace_id"] & ~bad["span_id"] & ~no_start)
    return (
        kept.with_columns(pl.when(~_is_bad("parent_span_id")).then(parent).alias("@parent_span_id")),
        pl.concat(refused, how="vertical_relaxed"),
    )


def settle_times(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Set an end before the start to the start and flag it.

    Returns:
        The spans with columns start_ns, end_ns and `@backward`, and one refused row per mended span.
    """
    start, end = pl.col("@start").cast(pl.Int64), pl.col("@end").cast(pl.Int64)
    settled = frame.with_columns(
        (end < start).alias("@backward"), start_ns=start, end_ns=pl.max_horizontal(start, end)
    )
    sent = pl.col("@end").cast(pl.String)
    return settled, _refused(settled, pl.col("@backward"), "end_ns", sent, pl.lit("end_before_start"))


def _is_zero(field: str) -> pl.Expr:
    return pl.col(f"@{field}").str.strip_chars("0") == ""


def _is_bad(field: str) -> pl.Expr:
    return (pl.col(f"@{field}").str.len_bytes() != _HEX[field]) | _is_zero(field)


def _refused(frame: pl.DataFrame, test: pl.Expr, field: str, value: pl.Expr, reason: pl.Expr) -> pl.DataFrame:
    rows = frame.filter(test).select("@row", field=pl.lit(field), value=value, reason=reason)
    return rows.with_columns(pl.col(_COLUMNS).cast(pl.String))
