"""What the replicas of a replay were doing: the ledger's states, by its rules, for the whole pool."""

import polars as pl

from planner.simulate import Run
from planner.workload import Workload

STATES = ("serving", "cold_start", "tool_wait", "between_steps", "spare", "no_task")
_CHANGES = ("busy", "up", "flying", "in_tool", "otherwise")


def replica_seconds(
    workload: Workload, run: Run, concurrency: int, *, cold_is_held: bool
) -> dict[str, float]:
    """Tell the seconds that replicas were in each state; they sum to what was held.

    Of the idle replicas those are `tool_wait` and `between_steps` that tasks waiting for a tool, or for
    anything else, could use at once (DESIGN of the ledger); the rest is `spare` while a task is open on the
    deployment, else `no_task`. A task is open from its first call's arrival to its last one's end.
    """
    found = dict.fromkeys(STATES, 0.0)
    replicas = run.replicas
    if cold_is_held:
        for asked, ready, gone in zip(replicas.asked_s, replicas.ready_s, replicas.gone_s, strict=True):
            until = ready if ready is not None else gone
            found["cold_start"] += (until if until is not None else run.end_s) - asked
    timeline = _timeline(workload, run)
    if timeline.is_empty():
        return found
    c = float(concurrency)
    idle = (pl.col("up") - pl.col("busy")).clip(lower_bound=0)
    need_now = (pl.col("flying") / c).ceil()
    need_tools = ((pl.col("flying") + pl.col("in_tool")) / c).ceil()
    need_all = ((pl.col("flying") + pl.col("in_tool") + pl.col("otherwise")) / c).ceil()
    sums = (
        timeline.with_columns(idle=idle)
        .with_columns(tool=(need_tools - pl.max_horizontal("busy", need_now)).clip(0, pl.col("idle")))
        .with_columns(
            between=(need_all - pl.max_horizontal("busy", need_tools)).clip(
                0, pl.col("idle") - pl.col("tool")
            ),
            is_open=(pl.col("flying") + pl.col("in_tool") + pl.col("otherwise")) > 0,
        )
        .with_columns(rest=pl.col("idle") - pl.col("tool") - pl.col("between"))
        .select(
            serving=(pl.col("busy") * pl.col("dt")).sum(),
            tool_wait=(pl.col("tool") * pl.col("dt")).sum(),
            between_steps=(pl.col("between") * pl.col("dt")).sum(),
            spare=(pl.col("rest") * pl.col("dt")).filter(pl.col("is_open")).sum(),
            no_task=(pl.col("rest") * pl.col("dt")).filter(~pl.col("is_open")).sum(),
        )
        .row(0, named=True)
    )
    return found | {name: float(value) for name, value in sums.items()}


def _timeline(workload: Workload, run: Run) -> pl.DataFrame:
    """Give, for each stretch between two changes, how many replicas and tasks were in which condition."""
    replicas = run.replicas
    parts = [
        _changes("busy", list(replicas.busy_t), list(replicas.busy_by)),
        _changes("up", list(replicas.up_t), list(replicas.up_by)),
        _tasks(workload, run),
    ]
    return (
        pl.concat(parts, how="diagonal")
        .fill_null(0)
        .group_by("t")
        .agg(pl.col(*_CHANGES).sum())
        .sort("t")
        .with_columns(pl.col(*_CHANGES).cum_sum(), dt=pl.col("t").shift(-1) - pl.col("t"))
        .filter(pl.col("dt") > 0)
    )


def _changes(name: str, instants: list[float], changes: list[int]) -> pl.DataFrame:
    columns = {"t": pl.Series(instants, dtype=pl.Float64), name: pl.Series(changes, dtype=pl.Int64)}
    return pl.DataFrame(columns)


def _tasks(workload: Workload, run: Run) -> pl.DataFrame:
    """Give the changes of how many calls fly, and how many tasks wait in a tool or otherwise."""
    steps = pl.DataFrame(
        {
            "task": pl.Series(workload.task, dtype=pl.Int64),
            "served": pl.Series(workload.served, dtype=pl.Boolean),
            "begin": pl.Series(run.arrived_s, dtype=pl.Float64),
            "end": pl.Series(run.ended_s, dtype=pl.Float64).fill_nan(run.end_s),
        }
    ).filter(pl.col("begin").is_not_nan())
    calls = steps.filter(pl.col("served"))
    open_from = calls.group_by("task").agg(first=pl.col("begin").min(), last=pl.col("end").max())
    inside = (
        steps.join(open_from, on="task")
        .with_columns(
            begin=pl.col("begin").clip(pl.col("first")), end=pl.col("end").clip(None, pl.col("last"))
        )
        .filter(pl.col("end") > pl.col("begin"))
    )
    by_task = pl.concat([_edges(inside, "begin", 1), _edges(inside, "end", -1), _bounds(open_from)])
    running = (
        by_task.group_by("task", "t")
        .agg(pl.col("calls", "tools", "open").sum())
        .sort("task", "t")
        .with_columns(pl.col("calls", "tools", "open").cum_sum().over("task"))
        .with_columns(
            in_tool=((pl.col("calls") == 0) & (pl.col("tools") > 0) & (pl.col("open") > 0)).cast(pl.Int64),
            otherwise=((pl.col("calls") == 0) & (pl.col("tools") == 0) & (pl.col("open") > 0)).cast(pl.Int64),
        )
    )
    return running.select(
        "t",
        *(
            (pl.col(name) - pl.col(name).shift(1).over("task").fill_null(0)).alias(title)
            for name, title in (("calls", "flying"), ("in_tool", "in_tool"), ("otherwise", "otherwise"))
        ),
    )


def _edges(steps: pl.DataFrame, column: str, sign: int) -> pl.DataFrame:
    return steps.select(
        "task",
        t=pl.col(column),
        calls=pl.col("served").cast(pl.Int64) * sign,
        tools=(~pl.col("served")).cast(pl.Int64) * sign,
        open=pl.lit(0, pl.Int64),
    )


def _bounds(open_from: pl.DataFrame) -> pl.DataFrame:
    nothing = {"calls": pl.lit(0, pl.Int64), "tools": pl.lit(0, pl.Int64)}
    return pl.concat(
        [
            open_from.select("task", t=pl.col("first"), **nothing, open=pl.lit(1, pl.Int64)),
            open_from.select("task", t=pl.col("last"), **nothing, open=pl.lit(-1, pl.Int64)),
        ]
    )
