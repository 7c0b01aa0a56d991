"""Read flat spans as rows of the warehouse: what each span says of itself, and nothing about another."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Literal

import polars as pl
import pyarrow as pa

from collector.decode import words
from collector.decode.attempts import read_attempts
from collector.decode.conditions import any_holds, may_hold
from collector.decode.content import digest, gather
from collector.decode.fields import TOKENS, read_fields, read_numbers, read_roles
from collector.decode.finish import finish_rows, refused_rows
from collector.decode.flat import FlatTraces
from collector.decode.identity import refuse_ids, settle_times
from collector.decode.options import DecodeOptions
from collector.decode.usage import settle_usage
from collector.decode.wanted import wanted
from collector.decode.wide import look, widen
from collector.dialects.read import Dialect, Entry, dialects
from collector.dialects.read_logs import log_dialects
from collector.journal.record import Record
from warehouse.rows import SCHEMAS

Told = Literal["span", "log"]


def read_spans(
    flat: FlatTraces, records: Sequence[Record], options: DecodeOptions, told: Told = "span"
) -> dict[str, pa.Table]:
    """Make the rows of `spans` and of `refused` from flat spans; records are in the order of `flat`.

    Spans that were made of log records are read by the log sections of the dialects: each ended when it was
    told, and started so much earlier as it says that it took.
    """
    if flat.spans.is_empty():
        return {kind: SCHEMAS[kind].empty_table() for kind in ("spans", "refused")}
    known = _known(options.task_key, told)
    wants = wanted(known)
    seen = look(flat)
    frame = widen(seen, wants)
    frame, bad_ids = refuse_ids(frame)
    if frame.is_empty():
        return {"spans": SCHEMAS["spans"].empty_table(), "refused": refused_rows(bad_ids, flat, records)}
    frame, bad_times = settle_times(frame)
    frame = _by_dialect(frame, known)
    frame, bad_numbers = read_numbers(frame)
    frame = _settle_start(frame, told)
    frame = settle_usage(frame)
    frame = read_attempts(frame, seen.events, known)
    held = gather(seen, wants)
    spans = frame.select("@row", "@dialect", "@role").iter_rows()
    frame = frame.join(
        digest(held, spans, {dialect.id: dialect for dialect in known}, options), on="@row", how="left"
    )
    refused = pl.concat([bad_ids, bad_times, bad_numbers])
    return {
        "spans": finish_rows(_settle_words(frame), flat, records),
        "refused": refused_rows(refused, flat, records),
    }


def _by_dialect(frame: pl.DataFrame, known: tuple[Dialect, ...]) -> pl.DataFrame:
    frame = frame.with_columns(_detected(known, tuple(frame.columns)))
    by_id = {dialect.id: dialect for dialect in known}
    parts = [
        read_fields(read_roles(part, by_id[str(name)]), by_id[str(name)])
        for (name,), part in frame.partition_by("@dialect", as_dict=True).items()
    ]
    return pl.concat(parts, how="vertical").sort("@row")


def _settle_start(frame: pl.DataFrame, told: Told) -> pl.DataFrame:
    """Say which signal told of the rows, and when those that tell a duration alone began."""
    frame = frame.with_columns(signal=pl.lit(told))
    if told == "span":
        return frame.with_columns(words.flag(pl.col("untimed")).fill_null(False).alias("@untimed"))
    started = pl.max_horizontal(pl.col("end_ns") - pl.col("duration_ns").fill_null(0), pl.lit(1))
    return frame.with_columns(pl.col("duration_ns").is_null().alias("@untimed"), start_ns=started)


def _settle_words(frame: pl.DataFrame) -> pl.DataFrame:
    used = pl.any_horizontal(pl.col(field).is_not_null() for field in (*TOKENS, "reported_cost_usd"))
    reason = words.finish_reason(pl.col("finish_reason"))
    error = words.error_type(pl.col("error_type"))
    failed = pl.col("@status") == "error"
    settled = frame.with_columns(
        provider=words.provider(pl.col("provider")),
        finish_reason=reason,
        outcome=words.outcome(pl.col("outcome")),
        service_tier=words.service_tier(pl.col("service_tier")),
        error_type=pl.when(failed | pl.col("error_type").is_not_null()).then(error),
        tool_call_id=words.call_id(pl.col("tool_call_id")),
        operation=words.short(pl.coalesce("@operation", "operation")),
        rollup=pl.when(used).then("@rollup"),
        server_port=pl.coalesce("server_port", words.port_of(pl.col("server_address")).cast(pl.Int64)),
        server_address=words.host_of(pl.col("server_address")),
        **{name: words.flag(pl.col(name)) for name in ("is_stream", "cached_answer", "tool_read_only")},
        simulated=words.flag(pl.col("simulated")).fill_null(False),
    )
    asked = pl.col("finish_reason") == "tool_calls"
    final = pl.col("@stop_is_final") & pl.col("finish_reason").is_in(["stop", "length", "content_filter"])
    says = pl.when(asked).then(pl.lit(True)).when(pl.col("@answer_asks").is_not_null()).then("@answer_asks")
    return settled.with_columns(
        asked_tool=pl.when(pl.col("@role").is_in(["llm", "server", "gateway", "attempt"])).then(
            says.when(final).then(pl.lit(False))
        )
    )


@lru_cache(maxsize=512)
def _detected(known: tuple[Dialect, ...], columns: tuple[str, ...]) -> pl.Expr:
    """Name the first dialect that claims a span."""
    claims = [
        pl.when(any_holds(dialect.detect, columns)).then(pl.lit(dialect.id))
        for dialect in known
        if any(may_hold(condition, columns) for condition in dialect.detect)
    ]
    return pl.coalesce(claims).alias("@dialect")


@cache
def _known(task_key: str | None, told: Told) -> tuple[Dialect, ...]:
    """Read the dialects; the user's task key stands before each dialect's own."""
    known = dialects() if told == "span" else log_dialects()
    if not task_key:
        return known
    first = (Entry(task_key), Entry(f"resource:{task_key}"))
    return tuple(
        replace(dialect, fields={**dialect.fields, "task_key": first + dialect.fields.get("task_key", ())})
        for dialect in known
    )
