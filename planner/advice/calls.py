"""Model calls that can be costed anew: what each used, and the prices that priced it."""

import math
from collections.abc import Callable, Iterable, Sequence
from decimal import ROUND_HALF_EVEN, Decimal
from typing import Any, NamedTuple

import pyarrow as pa

_UNIT = Decimal("1e-12")
_ROWS_AT_ONCE = 10_000  # rows as dicts take much memory
_INSTANTS = ("task_started_at", "started_at", "ended_at")


class Rates(NamedTuple):
    """USD per token; None where the price book has none of its own: then the input's price holds."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    cache_write: Decimal | None = None
    cache_write_1h: Decimal | None = None


class Call(NamedTuple):
    """One attempt of a model call. Tokens and money are None where unknown; instants are ns UTC.

    `read` and `write` are parts of `input`; `write_1h` is a part of `write`. `why` is set on what is no plain
    call (a roll-up). `outcome` is what somebody said of the task, `task_status` what the task itself says.
    """

    step_id: str
    task_id: str
    start_ns: int
    end_ns: int
    task_start_ns: int = 0
    task_type: str | None = None
    task_status: str = "ok"
    outcome: str | None = None
    task_rounds: int | None = None
    task_s: float | None = None
    agent: str | None = None
    name: str | None = None
    thread: str | None = None
    round: int | None = None
    provider: str | None = None
    model: str | None = None
    paid_by: str | None = "tokens"
    status: str = "ok"
    why: str | None = None
    bucket: str | None = None
    asked_tool: bool | None = None
    failed_before: bool = False
    input: int | None = None
    read: int | None = None
    write: int | None = None
    write_1h: int | None = None
    output: int | None = None
    reasoning: int | None = None
    schema: int | None = None
    resent: int | None = None
    provenance: str = "reported"
    cost_usd: Decimal | None = None
    rates: Rates | None = None
    price_source: str | None = None
    simulated: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it is an answered call whose tokens and price are known, so that it can be costed anew."""
        return self.why is None and None not in (self.input, self.output, self.rates, self.cost_usd)


Recall = Callable[[Sequence[Call]], list[Call]]


def read_calls(table: pa.Table) -> tuple[Call, ...]:
    """Read the report `recommendations_calls`."""
    for name in _INSTANTS:
        place = table.column_names.index(name)
        table = table.set_column(place, name, table.column(name).cast(pa.timestamp("us")).cast(pa.int64()))
    return tuple(_call(row) for batch in table.to_batches(_ROWS_AT_ONCE) for row in batch.to_pylist())


def _call(row: dict[str, Any]) -> Call:
    rates = None
    if row["input_usd"] is not None:
        rates = Rates(
            row["input_usd"],
            row["output_usd"],
            row["cache_read_usd"],
            row["cache_write_usd"],
            row["cache_write_1h_usd"],
        )
    return Call(
        step_id=row["step_id"],
        task_id=row["task_id"],
        start_ns=row["started_at"] * 1_000,
        end_ns=row["ended_at"] * 1_000,
        task_start_ns=row["task_started_at"] * 1_000,
        **{name: row[name] for name in _SAME},
        **{name: row[f"{name}_tokens"] for name in ("input", "output", "reasoning", "resent")},
        read=row["cache_read_tokens"],
        write=row["cache_write_tokens"],
        write_1h=row["cache_write_1h_tokens"],
        schema=row["tool_schema_tokens"],
        provenance=row["token_provenance"],
        cost_usd=row["token_cost_usd"],
        rates=rates,
    )


_SAME = (
    *("task_type", "task_status", "outcome", "task_rounds", "task_s", "agent", "name", "thread", "round"),
    *(
        "provider",
        "model",
        "paid_by",
        "status",
        "why",
        "bucket",
        "asked_tool",
        "failed_before",
        "price_source",
        "simulated",
    ),
)


def cost(call: Call) -> Decimal | None:
    """Cost a call by its tokens and rates, as the warehouse does: exact, then half to even at 1e-12 USD."""
    rates = call.rates
    if rates is None or call.input is None or call.output is None:
        return None
    read = min(call.read or 0, call.input)
    write = min(call.write or 0, call.input - read)
    write_1h = min(call.write_1h or 0, write)
    write_usd = _or(rates.cache_write, rates.input)
    exact = (
        (call.input - read - write) * rates.input
        + read * _or(rates.cache_read, rates.input)
        + (write - write_1h) * write_usd
        + write_1h * _or(rates.cache_write_1h, write_usd)
        + call.output * rates.output
    )
    return exact.quantize(_UNIT, ROUND_HALF_EVEN)


def recost(call: Call, **changes: Any) -> Call:
    """Change a call and cost it anew; its prices stay those of its own time and tier."""
    changed = call._replace(**changes)
    return changed._replace(cost_usd=cost(changed))


def without(call: Call, begin: int, end: int) -> Call:
    """Take the tokens from `begin` to `end` out of a call's prompt.

    A prompt is schemas, resent, fresh. Cache reads fill it from its start and cache writes come next, so what
    is taken out takes its own part of them along.
    """
    read, write, write_1h = call.read or 0, call.write or 0, call.write_1h or 0
    gone = end - begin
    from_read = _shared(begin, end, 0, read)
    from_1h = _shared(begin, end, read, read + write_1h)
    from_write = _shared(begin, end, read, read + write)
    return recost(
        call,
        input=(call.input or 0) - gone,
        read=None if call.read is None else read - from_read,
        write=None if call.write is None else write - from_write,
        write_1h=None if call.write_1h is None else write_1h - from_1h,
    )


def total(calls: Iterable[Call]) -> Decimal:
    """Sum the known costs."""
    return sum((call.cost_usd for call in calls if call.cost_usd is not None), Decimal(0))


def percentile(values: Sequence[float], quantile: float) -> float:
    """Tell the smallest value that at least that share of them does not exceed; there must be one."""
    ordered = sorted(values)
    return ordered[max(math.ceil(quantile * len(ordered)) - 1, 0)]


def _shared(begin: int, end: int, first: int, last: int) -> int:
    return max(min(end, last) - max(begin, first), 0)


def _or(rate: Decimal | None, other: Decimal) -> Decimal:
    return other if rate is None else rate
