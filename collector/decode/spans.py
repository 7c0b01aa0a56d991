"""Read flat spans as rows of the warehouse: what each span says of itself, and nothing about another."""

from collections.abc import Sequence

import polars as pl
import pyarrow as pa

from collector.decode import words
from collector.decode.attempts import read_attempts
from collector.decode.conditions import any_holds
from collector.decode.content import digest, gather
from collector.decode.fields import TOKENS, read_fields, read_numbers, read_roles
from collector.decode.finish import finish_rows
from collector.decode.flat import FlatTraces
from collector.decode.identity import refuse_ids, settle_times
from collector.decode.options import DecodeOptions
from collector.decode.usage import settle_usage
from collector.decode.wanted import Wanted, wanted
from collector.decode.wide import widen
from collector.dialects.read import Dialect, Entry, dialects
from collector.journal.record import Record
from warehouse.rows import SCHEMAS


def read_spans(flat: FlatTraces, records: Sequence[Record], options: DecodeOptions) -> dict[str, pa.Table]:
    """Make the rows of `spans` and of `refused` from flat spans; records are in the order of `flat`."""
    if flat.spans.is_empty():
        return {kind: SCHEMAS[kind].empty_table() for kind in ("spans", "refused")}
    known = _with_task_key(dialects(), options.task_key)
    frame = widen(flat, _with_keys(wanted(), options.task_key))
    frame, bad_ids = refuse_ids(frame)
    frame, bad_times = settle_times(frame)
    frame = _by_dialect(frame, known)
    frame, bad_numbers = read_numbers(frame)
    frame = settle_usage(frame)
    frame = read_attempts(frame, flat, known)
    held = gather(flat, wanted())
    spans = frame.select("@row", "@dialect", "@role").iter_rows()
    frame = frame.join(
        digest(held, spans, {dialect.id: dialect for dialect in known}, options), on="@row", how="left"
    )
    refused = pl.concat([bad_ids, bad_times, bad_numbers], how="vertical_relaxed")
    return finish_rows(_settle_words(frame), refused, flat, records)


def _by_dialect(frame: pl.DataFrame, known: tuple[Dialect, ...]) -> pl.DataFrame:
    detected = [
        pl.when(any_holds(dialect.detect, frame.columns)).then(pl.lit(dialect.id)) for dialect in known
    ]
    frame = frame.with_columns(pl.coalesce(detected).alias("@dialect"))
    by_id = {dialect.id: dialect for dialect in known}
    parts = [
        read_fields(read_roles(part, by_id[str(name)]), by_id[str(name)])
        for (name,), part in frame.partition_by("@dialect", as_dict=True).items()
    ]
    return pl.concat(parts, how="vertical").sort("@row")


def _settle_words(frame: pl.DataFrame) -> pl.DataFrame:
    used = pl.any_horizontal(pl.col(field).is_not_null() for field in (*TOKENS, "reported_cost_usd"))
    reason = words.finish_reason(pl.col("finish_reason"))
    error = words.error_type(pl.col("error_type"))
    failed = pl.col("@status") == "error"
    settled = frame.with_columns(
        provider=words.provider(pl.col("provider")),
        finish_reason=reason,
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


def _with_task_key(known: tuple[Dialect, ...], key: str | None) -> tuple[Dialect, ...]:
    """Let the user's task key stand before each dialect's own."""
    if not key:
        return known
    first = (Entry(key), Entry(f"resource:{key}"))
    return tuple(
        dialect._replace(
            fields={**dialect.fields, "task_key": first + tuple(dialect.fields.get("task_key", ()))}
        )
        for dialect in known
    )


def _with_keys(wants: Wanted, key: str | None) -> Wanted:
    return wants._replace(keys=wants.keys | {key, f"resource:{key}"}) if key else wants
