"""The last step of a span: links, flags, how full the row is, and the hash that tells versions apart."""

import hashlib
from collections.abc import Sequence
from decimal import Decimal

import polars as pl
import pyarrow as pa

from collector.decode.flat import FlatTraces
from collector.decode.words import short
from collector.journal.record import Record
from warehouse.rows import REFUSED, SPANS

_FROM_BASE = ("trace_id", "span_id", "parent_span_id", "span_kind", "status", "dialect", "role")
_CUT_BASE = ("name", "scope_name", "scope_version", "schema_url")
_CUT = (
    "model_requested",
    "model_response",
    "response_id",
    "agent_name",
    "agent_id",
    "session_id",
    "user_id",
    "task_key",
    "task_type",
    "tool_name",
    "deployment",
    "replica",
    "service_name",
    "host",
)
_RECEIPT = ("received_ns", "filled", "row_hash")
_USD_DIGITS = Decimal(1).scaleb(-12)
_CELL, _ROW_PART, _NULL = "\x1f", "\x1e", "\x00"


def finish_rows(frame: pl.DataFrame, flat: FlatTraces, records: Sequence[Record]) -> pa.Table:
    """Make the table `spans`; every column of the schema is there."""
    rows = (
        _with_links(frame, flat)
        .join(_receipt(records), left_on="@record", right_on="record", how="left", maintain_order="left")
        .select(_columns(frame))
    )
    rows = rows.with_columns(filled=_filled(rows), row_hash=row_hashes(rows))
    return _table(rows, SPANS)


def refused_rows(refused: pl.DataFrame, flat: FlatTraces, records: Sequence[Record]) -> pa.Table:
    """Make the table `refused` of refused figures of spans, in the order of the spans."""
    if refused.is_empty():
        return REFUSED.empty_table()
    spans = flat.spans.with_row_index("@row").select(
        "@row",
        "record",
        trace_id=_whole_id("trace_id", 16),
        span_id=_whole_id("span_id", 8),
    )
    rows = (
        refused.sort("@row", maintain_order=True)
        .join(spans, on="@row", how="left", maintain_order="left")
        .join(_receipt(records), on="record", how="left", maintain_order="left")
        .with_columns(signal=pl.lit(records[0].signal))
    )
    return _table(rows.select(REFUSED.names), REFUSED)


def row_hashes(rows: pl.DataFrame) -> pl.Series:
    """Hash what each row says, without when and how it came: equal content has equal hashes."""
    cells = [_cell(name, dtype) for name, dtype in rows.schema.items() if name not in _RECEIPT]
    texts = rows.select(pl.concat_str(cells, separator=_CELL)).to_series()
    hashes = [hashlib.blake2b(text.encode(), digest_size=16).hexdigest() for text in texts]
    return pl.Series("row_hash", hashes, dtype=pl.String)


def _columns(frame: pl.DataFrame) -> list[pl.Expr]:
    made = {
        **{name: pl.col(f"@{name}") for name in _FROM_BASE},
        **{name: short(pl.col(f"@{name}")) for name in _CUT_BASE},
        **{name: short(pl.col(name)) for name in _CUT},
        "flags": _flags(),
        "reported_cost_usd": pl.lit(_usd(frame["reported_cost_usd"])),
    }
    names = [name for name in SPANS.names if name not in ("filled", "row_hash")]
    return [made.get(name, pl.col(name)).alias(name) for name in names]


def _receipt(records: Sequence[Record]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "record": range(len(records)),
            "received_ns": [record.received_ns for record in records],
            "tenant": [record.tenant for record in records],
            "source": [record.peer for record in records],
        },
        schema={"record": pl.UInt32, "received_ns": pl.Int64, "tenant": pl.String, "source": pl.String},
    )


def _cell(name: str, dtype: pl.DataType) -> pl.Expr:
    column = pl.col(name)
    text = (
        column.cast(pl.List(pl.String)).list.join(_ROW_PART)
        if isinstance(dtype, pl.List)
        else column.cast(pl.String)
    )
    return text.fill_null(_NULL)


def _filled(rows: pl.DataFrame) -> pl.Expr:
    counted = [name for name in rows.columns if name not in _RECEIPT]
    return pl.sum_horizontal(pl.col(name).is_not_null().cast(pl.Int64) for name in counted)


def _with_links(frame: pl.DataFrame, flat: FlatTraces) -> pl.DataFrame:
    """Add `task_links`: the other traces that a span's links name."""
    if flat.links.is_empty():
        return frame.with_columns(task_links=pl.lit(None, pl.List(pl.String)))
    links = (
        flat.links.lazy()
        .select(pl.col("owner").alias("@row"), linked=_whole_id("trace_id", 16))
        .filter(pl.col("linked").str.strip_chars("0") != "")
        .join(frame.lazy().select("@row", "@trace_id"), on="@row", how="inner")
        .filter(pl.col("linked") != pl.col("@trace_id"))
        .group_by("@row")
        .agg(task_links=pl.col("linked").unique().sort())
        .collect()
    )
    return frame.join(links, on="@row", how="left", maintain_order="left")


def _flags() -> pl.Expr:
    """Name what a reader of the row should know; null where there is nothing."""
    threshold = pl.col("@trace_state").str.extract(r"(?:^|,)\s*ot=(?:[^,]*;)?th:([0-9a-f]{1,14})", 1)
    tests = {
        "attributes_dropped": pl.col("@dropped_attributes") > 0,
        "cache_added": pl.col("@cache_added"),
        "cut_content": pl.col("@cut"),
        "end_before_start": pl.col("@backward"),
        "head_sampled": threshold.str.strip_chars("0") != "",
        "reasoning_added": pl.col("@reasoning_added"),
        "untimed": pl.col("@untimed"),
    }
    flags = pl.concat_list(
        pl.when(test.fill_null(False)).then(pl.lit(name)) for name, test in tests.items()
    ).list.drop_nulls()
    return pl.when(flags.list.len() > 0).then(flags)


def _usd(texts: pl.Series) -> pl.Series:
    amounts = [None if text is None else Decimal(text.strip()).quantize(_USD_DIGITS) for text in texts]
    return pl.Series("reported_cost_usd", amounts, dtype=pl.Decimal(38, 12))


def _whole_id(name: str, size: int) -> pl.Expr:
    return pl.when(pl.col(name).bin.size() == size).then(pl.col(name).bin.encode("hex"))


def _table(rows: pl.DataFrame, schema: pa.Schema) -> pa.Table:
    return rows.to_arrow().cast(schema)
