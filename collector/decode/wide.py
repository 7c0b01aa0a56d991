"""From the flat tables to one row per span: a text column per wanted attribute that the block really has.

Every value is text here, whatever type it was sent as: senders disagree about types, and the readers of the
fields accept a number in any of its forms.
"""

import json
from collections.abc import Iterable
from typing import Any

import polars as pl
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

from collector.decode.conditions import HAS_PREFIX
from collector.decode.flat import FlatTraces
from collector.decode.wanted import Wanted, matching

_KINDS = ("internal", "server", "client", "producer", "consumer")
_STATUS = ("unset", "ok", "error")
_MAX_KEYS = 4_096  # a block with more different wanted keys than this is not read for the rest of them


def widen(flat: FlatTraces, wanted: Wanted) -> pl.DataFrame:
    """Put each span and its wanted attributes in one row; column `@row` is the span's row number.

    Keys of events are columns `event:NAME key` (the first event of a name that has the key), keys of the
    resource and the scope `resource:key` and `scope:key`.
    """
    frame = _base(flat)
    spans = pick(flat.attributes, wanted)
    events = pick(named_events(flat), wanted)
    frame = _join(frame, _pivot(spans), "@row")
    frame = _join(frame, _pivot(events), "@row")
    for place, attributes in (("resource", flat.resource_attributes), ("scope", flat.scope_attributes)):
        prefixed = attributes.with_columns(key=pl.lit(f"{place}:") + pl.col("key"))
        frame = _join(frame, _pivot(pick(prefixed, wanted)), f"@{place}")
    return _flag_prefixes(frame, flat.attributes, wanted.prefixes)


def named_events(flat: FlatTraces) -> pl.DataFrame:
    """List the attributes of events by span, under keys `event:NAME key`.

    Where an event says its name in the attribute `event.name`, that is its name: some SDKs put a source
    location in the name itself.
    """
    said = flat.event_attributes.filter(pl.col("key") == "event.name").select(event="owner", said_name="text")
    events = flat.events.join(said.unique("event", keep="first"), on="event", how="left")
    named = events.select("owner", "event", event_name=pl.coalesce("said_name", "event_name").fill_null(""))
    return (
        flat.event_attributes.rename({"owner": "event"})
        .join(named, on="event", how="inner", maintain_order="left")
        .with_columns(attribute="key", key=pl.format("event:{} {}", "event_name", "key"))
    )


def pick(attributes: pl.DataFrame, wanted: Wanted) -> pl.DataFrame:
    """Keep the wanted attributes as (owner, key, text), the first of equal keys of one owner."""
    there = attributes["key"].unique().to_list()
    keys = sorted(wanted.keys.intersection(there))
    keys += [key for pattern in sorted(wanted.patterns) for key in matching(pattern, there)]
    kept = attributes.filter(pl.col("key").is_in(keys[:_MAX_KEYS]))
    return as_text(kept).drop_nulls("text").unique(["owner", "key"], keep="first", maintain_order=True)


def as_text(attributes: pl.DataFrame) -> pl.DataFrame:
    """Write each value as text: numbers in their shortest form, lists and pairs as JSON."""
    lists = _opened(attributes["array"], ArrayValue)
    pairs = _opened(attributes["pairs"], KeyValueList)
    flag = pl.when("flag").then(pl.lit("true")).when(~pl.col("flag")).then(pl.lit("false"))
    text = pl.coalesce("text", flag, pl.col("whole").cast(pl.String), pl.col("real").cast(pl.String))
    others = [name for name in attributes.columns if name in ("owner", "event", "event_name", "attribute")]
    return attributes.select(*others, "key", text=pl.coalesce(text, lists, pairs))


def plain_value(value: AnyValue) -> Any:
    """Read a protobuf value as JSON knows it; bytes become hex."""
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [plain_value(one) for one in value.array_value.values]
    if kind == "kvlist_value":
        return {one.key: plain_value(one.value) for one in value.kvlist_value.values}
    if kind == "bytes_value":
        return value.bytes_value.hex()
    return getattr(value, kind) if kind else None


def _opened(column: pl.Series, form: type[ArrayValue] | type[KeyValueList]) -> pl.Series:
    """Write the JSON of the protobuf lists in a column; what cannot be read becomes null."""
    seen = column.drop_nulls().unique().to_list()
    if not seen:
        return pl.Series([None], dtype=pl.String).new_from_index(0, len(column))
    texts = {held: _json(held, form) for held in seen}
    return pl.Series([None if held is None else texts[held] for held in column], dtype=pl.String)


def _json(held: bytes, form: type[ArrayValue] | type[KeyValueList]) -> str | None:
    value = AnyValue()
    try:
        (value.array_value if form is ArrayValue else value.kvlist_value).MergeFromString(held)
        return json.dumps(plain_value(value), ensure_ascii=False, separators=(",", ":"))
    except (DecodeError, RecursionError):
        return None


def _base(flat: FlatTraces) -> pl.DataFrame:
    def nonempty(name: str) -> pl.Expr:
        return pl.when(pl.col(name) != "").then(pl.col(name)).alias(f"@{name}")

    kinds = dict(enumerate(_KINDS, start=1))
    return flat.spans.with_row_index("@row").select(
        "@row",
        pl.col("record").alias("@record"),
        pl.col("resource").alias("@resource"),
        pl.col("scope").alias("@scope"),
        *(nonempty(name) for name in ("name", "trace_state", "scope_name", "scope_version", "schema_url")),
        pl.col("trace_id").bin.encode("hex").alias("@trace_id"),
        pl.col("span_id").bin.encode("hex").alias("@span_id"),
        pl.col("parent_span_id").bin.encode("hex").alias("@parent_span_id"),
        pl.col("start").alias("@start"),
        pl.col("end").alias("@end"),
        pl.col("dropped_attributes").alias("@dropped_attributes"),
        pl.col("kind").replace_strict(kinds, default=None, return_dtype=pl.String).alias("@span_kind"),
        pl.col("status")
        .replace_strict(dict(enumerate(_STATUS)), default="unset", return_dtype=pl.String)
        .alias("@status"),
    )


def _pivot(picked: pl.DataFrame) -> pl.DataFrame:
    if picked.is_empty():
        return pl.DataFrame(schema={"owner": pl.UInt32})
    return picked.pivot(on="key", index="owner", values="text", aggregate_function="first")


def _join(frame: pl.DataFrame, pivoted: pl.DataFrame, on: str) -> pl.DataFrame:
    if pivoted.is_empty():
        return frame
    return frame.join(pivoted, left_on=on, right_on="owner", how="left", maintain_order="left")


def _flag_prefixes(frame: pl.DataFrame, attributes: pl.DataFrame, prefixes: Iterable[str]) -> pl.DataFrame:
    there = attributes["key"].unique()
    flags = []
    for prefix in prefixes:
        keys = there.filter(there.str.starts_with(prefix))
        if len(keys):
            owners = attributes.filter(pl.col("key").is_in(keys.to_list()))["owner"].unique()
            flags.append(pl.col("@row").is_in(owners.to_list()).alias(HAS_PREFIX + prefix))
    return frame.with_columns(flags)
