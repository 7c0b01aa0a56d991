"""Canonical fields of a span: what kind each is, and reading them by the ordered keys of a dialect.

Of the keys of a field the first that is there wins; alternatives are never summed.
"""

from collections.abc import Collection, Iterator, Sequence
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any

import polars as pl

from collector.decode.conditions import any_holds, holds, may_hold
from collector.decode.identity import none_refused
from collector.decode.numbers import NS_PER_UNIT, amount_reason, as_count, as_ns, count_reason, known, shown
from collector.decode.values import text_of
from collector.dialects.read import Condition, Dialect, Entry

TOKENS = (
    "input_tokens",
    "extra_input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_write_1h_tokens",
    "output_tokens",
    "extra_output_tokens",
    "reasoning_tokens",
    "total_tokens",
)
COUNTS = (*TOKENS, "attempts", "retries", "server_port")
DURATIONS = ("ttft", "queue", "work", "duration")
AMOUNTS = ("reported_cost_usd",)
NAMES = (
    "operation",
    "provider",
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
    "tool_call_id",
    "error_type",
    "finish_reason",
    "service_tier",
    "outcome",
    "server_address",
    "deployment",
    "replica",
    "service_name",
    "host",
)
FLAGS = ("is_stream", "cached_answer", "tool_read_only", "untimed", "simulated")
FIELDS = (*NAMES, *COUNTS, *DURATIONS, *AMOUNTS, *FLAGS)
_NUMBERS = (*COUNTS, *DURATIONS, *AMOUNTS)
_ONLY_ON = {
    "tool_name": ("tool", "inner"),
    "tool_call_id": ("tool", "inner"),
    "finish_reason": ("llm", "agent", "gateway", "server", "attempt"),
    "service_tier": ("llm", "embedding", "gateway", "server", "attempt"),
}
_UNSEEN = frozenset({"service_name", "host", "simulated"})  # their source is always the same


def read_roles(frame: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Give each span its role, the operation and roll-up meaning that come with it: first rule that holds."""
    return frame.with_columns(_rule(dialect, tuple(frame.columns))).with_columns(_roles(dialect))


def read_fields(frame: pl.DataFrame, dialect: Dialect) -> pl.DataFrame:
    """Add every canonical field as text, and `sources`: a JSON object of field to the key that gave it."""
    return frame.with_columns(_fields(dialect, tuple(frame.columns)))


@lru_cache(maxsize=512)
def _rule(dialect: Dialect, columns: tuple[str, ...]) -> list[pl.Expr]:
    """Number the first role rule that holds, and find out whether the span says that it failed."""
    numbers = list(range(len(dialect.roles)))
    failed = any_holds(dialect.errors, columns)
    return [
        _first([rule.when for rule in dialect.roles], numbers, columns, pl.Int32()).alias("@rule"),
        pl.when(failed).then(pl.lit("error")).otherwise("@status").alias("@status"),
    ]


@cache
def _roles(dialect: Dialect) -> list[pl.Expr]:
    """Give what the rule gives."""
    given: dict[str, tuple[list[Any], str | None]] = {
        "@role": ([rule.role for rule in dialect.roles], dialect.default_role),
        "@operation": ([rule.operation for rule in dialect.roles], None),
        "@rollup": ([rule.rollup for rule in dialect.roles], None),
    }
    return [
        pl.lit(pl.Series([*values, default], dtype=pl.String))
        .gather(pl.col("@rule").fill_null(len(values)))
        .alias(name)
        for name, (values, default) in given.items()
    ]


@lru_cache(maxsize=512)
def _fields(dialect: Dialect, columns: tuple[str, ...]) -> list[pl.Expr]:
    texts, sources = [], []
    for field in FIELDS:
        found = list(_found(field, dialect.fields.get(field, ()), columns))
        texts.append(pl.coalesce([text for text, _ in found] or [pl.lit(None, pl.String)]).alias(field))
        if found and field not in _UNSEEN:
            sources.append(_source(field, found))
    named = pl.concat_str(sources or [pl.lit("")], separator=",", ignore_nulls=True)
    return [
        *texts,
        pl.when(named != "").then(pl.concat_str(pl.lit("{"), named, pl.lit("}"))).alias("sources"),
        *_meaning(dialect, columns),
        *(_ns_per_unit(dialect.fields.get(field, ()), columns).alias(f"@ns:{field}") for field in DURATIONS),
        pl.lit(dialect.stop_is_final).alias("@stop_is_final"),
    ]


def read_numbers(frame: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Turn the text of counts and durations into numbers.

    Returns:
        The frame, and one row per refused figure: @row, field, value (shown), reason. Durations become
        `<field>_ns`; amounts of money stay text, null where refused.
    """
    there = tuple(field for field in _NUMBERS if frame[field].null_count() < len(frame))
    frame = frame.with_columns(_told(there))
    refused = [
        frame.filter(pl.col(f"@why:{field}").is_not_null()).select(
            "@row", field=pl.lit(field), value=shown(pl.col(field)), reason=pl.col(f"@why:{field}")
        )
        for field in there
        if frame[f"@why:{field}"].null_count() < len(frame)
    ]
    return frame.with_columns(_taken(there)), pl.concat([none_refused(), *refused])


@lru_cache(maxsize=512)
def _told(there: tuple[str, ...]) -> list[pl.Expr]:
    """Make the expressions that say why figures are refused."""
    return [_reason(field).alias(f"@why:{field}") for field in there]


def _reason(field: str) -> pl.Expr:
    if field in COUNTS:
        return count_reason(pl.col(field))
    return amount_reason(pl.col(field), pl.col(f"@ns:{field}") if field in DURATIONS else pl.lit(1))


@lru_cache(maxsize=512)
def _taken(there: tuple[str, ...]) -> list[pl.Expr]:
    """Make the expressions that read the figures that were not refused; what is not there is null."""
    why = {field: pl.col(f"@why:{field}") for field in there}
    nothing = pl.lit(None, pl.Int64)
    refused = [
        why[field].is_not_null() for field in ("cache_read_tokens", "cache_write_tokens") if field in why
    ]
    return [
        *((as_count(pl.col(name), why[name]) if name in why else nothing).alias(name) for name in COUNTS),
        *(
            (as_ns(pl.col(name), why[name], pl.col(f"@ns:{name}")) if name in why else nothing).alias(
                f"{name}_ns"
            )
            for name in DURATIONS
        ),
        *(pl.when(why[name].is_null()).then(name).alias(name) for name in AMOUNTS if name in why),
        reduce(or_, refused, pl.lit(False)).alias("@cache_refused"),
    ]


def _first(
    whens: Sequence[Condition],
    values: Sequence[int | bool | None],
    columns: Collection[str],
    dtype: pl.DataType,
) -> pl.Expr:
    """Take the value of the first condition that holds, null if none does."""
    chain: Any = pl
    for when, value in zip(whens, values, strict=True):
        if may_hold(when, columns):
            chain = chain.when(holds(when, columns)).then(pl.lit(value, dtype))
    nothing = pl.lit(None, dtype)
    taken: pl.Expr = nothing if chain is pl else chain.otherwise(nothing)
    return taken


def _found(field: str, entries: tuple[Entry, ...], columns: Collection[str]) -> Iterator[tuple[pl.Expr, str]]:
    for entry in entries:
        text = text_of(entry, columns)
        if text is None:
            continue
        if field in _ONLY_ON:
            text = pl.when(pl.col("@role").is_in(_ONLY_ON[field])).then(text)
        if entry.unit == "instant":
            text = _since_start(text)
        if field in _NUMBERS:
            text = known(text)
        yield text, entry.label


def _since_start(text: pl.Expr) -> pl.Expr:
    """Turn the text of an instant into the text of the nanoseconds since the span began."""
    since = text.cast(pl.Int64, strict=False) - pl.col("@start").cast(pl.Int64, strict=False)
    return since.cast(pl.String)


def _ns_per_unit(entries: tuple[Entry, ...], columns: Collection[str]) -> pl.Expr:
    """Say in what unit the entry that is taken gives its duration."""
    texts = [(text_of(entry, columns), entry) for entry in entries]
    units = [
        pl.when(text.is_not_null()).then(NS_PER_UNIT.get(entry.unit, 1))
        for text, entry in texts
        if text is not None
    ]
    return pl.coalesce([*units, pl.lit(1)]).cast(pl.Float64)


def _source(field: str, found: list[tuple[pl.Expr, str]]) -> pl.Expr:
    return pl.coalesce(
        [pl.when(text.is_not_null()).then(pl.lit(f'"{field}":"{label}"')) for text, label in found]
    )


def _meaning(dialect: Dialect, columns: Collection[str]) -> list[pl.Expr]:
    """Say what the usage figures mean, by the first usage rule that holds; without a rule nobody knows."""
    whens = [rule.when for rule in dialect.usage]

    def flags(values: list[bool | None], name: str) -> pl.Expr:
        return _first(whens, values, columns, pl.Boolean()).alias(name)

    return [
        flags([rule.input_includes_cache for rule in dialect.usage], "@includes_cache"),
        flags([rule.output_includes_reasoning for rule in dialect.usage], "@includes_reasoning"),
        flags([rule.total_proves for rule in dialect.usage], "@total_proves").fill_null(True),
    ]
