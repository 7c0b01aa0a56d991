"""From the flat tables to one row per span: a text column per wanted attribute that the block really has.

Every value is text here, whatever type it was sent as: senders disagree about types, and the readers of the
fields accept a number in any of its forms.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

import polars as pl
from google.protobuf.message import DecodeError
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValueList

from collector.decode.conditions import HAS_PREFIX
from collector.decode.flat import EVENTS_SCHEMA, VALUE_SCHEMA, FlatTraces
from collector.decode.wanted import Wanted, matching

_KINDS = ("internal", "server", "client", "producer", "consumer")
_STATUS = ("unset", "ok", "error")
_MAX_KEYS = 4_096  # a block with more different wanted keys than this is not read for the rest of them
_ELSEWHERE = ("event:", "resource:", "scope:")  # what a key of a span cannot claim to be


class Seen(NamedTuple):
    """The flat tables of a block, with what several readers ask of them."""

    flat: FlatTraces
    keys: list[str]  # different keys of span attributes
    events: pl.DataFrame  # attributes of events by span, see `named_events`


def look(flat: FlatTraces) -> Seen:
    """Find out once what a block has."""
    keys = [key for key in _unique(flat.attributes["key"]) if not key.startswith(_ELSEWHERE)]
    return Seen(flat, keys, named_events(flat))


def widen(seen: Seen, wanted: Wanted) -> pl.DataFrame:
    """Put each span and its wanted attributes in one row; column `@row` is the span's row number.

    Keys of events are columns `event:NAME key` (the first event of a name that has the key), keys of the
    resource and the scope `resource:key` and `scope:key`.
    """
    frame = _base(seen.flat)
    frame = _join(frame, pick(seen.flat.attributes, seen.keys, wanted), "@row")
    frame = _join(frame, pick(seen.events, _unique(seen.events["key"]), wanted), "@row")
    for place in ("resource", "scope"):
        attributes = getattr(seen.flat, f"{place}_attributes")
        keys = {f"{place}:{key}": key for key in _unique(attributes["key"])}
        picked = pick(attributes, list(keys), wanted, keys)
        frame = _join(
            frame, picked.with_columns(pl.concat_str(pl.lit(f"{place}:"), "key").alias("key")), f"@{place}"
        )
    return _flag_prefixes(frame, seen, wanted.prefixes)


def named_events(flat: FlatTraces) -> pl.DataFrame:
    """List the attributes of events by span, under keys `event:NAME key`.

    Where an event says its name in the attribute `event.name`, that is its name: some SDKs put a source
    location in the name itself.
    """
    if flat.event_attributes.is_empty():
        return pl.DataFrame(schema={**EVENTS_SCHEMA, **VALUE_SCHEMA, "attribute": pl.String})
    said = flat.event_attributes.lazy().filter(pl.col("key") == "event.name")
    said = said.select(event="owner", said_name="text").unique("event", keep="first", maintain_order=True)
    events = flat.events.lazy().join(said, on="event", how="left")
    named = events.select("owner", "event", event_name=pl.coalesce("said_name", "event_name").fill_null(""))
    return (
        flat.event_attributes.lazy()
        .rename({"owner": "event"})
        .join(named, on="event", how="inner", maintain_order="left")
        .with_columns(attribute="key", key=pl.format("event:{} {}", "event_name", "key"))
        .collect()
    )


def pick(
    attributes: pl.DataFrame, there: list[str], wanted: Wanted, names: dict[str, str] | None = None
) -> pl.DataFrame:
    """Keep the wanted attributes as (owner, key, text), the first of equal keys of one owner.

    `there` are the keys as the dialects write them, `names` their form in the table, where it differs.
    """
    keys = sorted(wanted.keys.intersection(there))
    keys += [key for pattern in sorted(wanted.patterns) for key in matching(pattern, there)]
    if not keys:
        return pl.DataFrame(schema={"owner": pl.UInt32, "key": pl.String, "text": pl.String})
    written = [names[key] for key in keys] if names else keys
    kept = attributes.filter(pl.col("key").is_in(written[:_MAX_KEYS]))
    texts = as_text(kept).lazy().select("owner", "key", "text").drop_nulls("text")
    return texts.unique(["owner", "key"], keep="first", maintain_order=True).collect()


def as_text(attributes: pl.DataFrame) -> pl.DataFrame:
    """Write each value as text: numbers in their shortest form, lists and pairs as JSON."""
    flag = pl.when("flag").then(pl.lit("true")).when(~pl.col("flag")).then(pl.lit("false"))
    opened = [
        _opened(attributes[column], form)
        for column, form in (("array", ArrayValue), ("pairs", KeyValueList))
        if attributes[column].null_count() < len(attributes)
    ]
    text = pl.coalesce("text", flag, pl.col("whole").cast(pl.String), pl.col("real").cast(pl.String), *opened)
    others = [name for name in ("owner", "event", "event_name", "attribute") if name in attributes.columns]
    return attributes.select(*others, "key", text=text)


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


def _unique(keys: pl.Series) -> list[str]:
    return keys.unique().to_list() if len(keys) else []


def _opened(column: pl.Series, form: type[ArrayValue] | type[KeyValueList]) -> pl.Series:
    """Write the JSON of the protobuf lists in a column; what cannot be read becomes null."""
    seen: dict[bytes, str | None] = {}
    texts = []
    for held in column.to_list():
        if held is not None and held not in seen:
            seen[held] = _json(held, form)
        texts.append(None if held is None else seen[held])
    return pl.Series(texts, dtype=pl.String)


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
    return flat.spans.select(
        pl.int_range(pl.len(), dtype=pl.UInt32).alias("@row"),
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


def _join(frame: pl.DataFrame, picked: pl.DataFrame, on: str) -> pl.DataFrame:
    if picked.is_empty():
        return frame
    pivoted = picked.pivot(on="key", index="owner", values="text", aggregate_function="first")
    return frame.join(pivoted, left_on=on, right_on="owner", how="left", maintain_order="left")


def _flag_prefixes(frame: pl.DataFrame, seen: Seen, prefixes: Iterable[str]) -> pl.DataFrame:
    by_prefix = {prefix: [key for key in seen.keys if key.startswith(prefix)] for prefix in prefixes}
    there = {prefix: keys for prefix, keys in by_prefix.items() if keys}
    if not there:
        return frame
    owners = seen.flat.attributes.select(
        pl.col("owner").filter(pl.col("key").is_in(keys)).unique().implode().alias(prefix)
        for prefix, keys in there.items()
    )
    return frame.with_columns(
        pl.col("@row").is_in(owners[prefix][0].implode()).alias(HAS_PREFIX + prefix) for prefix in there
    )
