"""What a refresh computes, in order: each model is one SQL file in sql/marts, named as its table.

A refresh runs in one transaction. Before the first model these tables are filled: `setting` (one row:
now_ns, settle_ns, task_timeout_ns, released_after_ns, sample_interval_ns, busy_ratio, clock_tolerance_ns),
which reports may read too, `dirty_traces` and `dirty_times`.

Scope says what is replaced before the file runs:
  temp     the file is `create or replace temp table <name> as select ...`
  task     rows of the tasks in temp table `touched_tasks` are deleted, then the file inserts
  quarter  rows of the quarter-hours in temp table `dirty_quarters` are deleted, then the file inserts
  whole    all rows are deleted, then the file inserts (small tables)
"""

from typing import Literal, NamedTuple

Scope = Literal["temp", "task", "quarter", "whole"]


class Model(NamedTuple):
    """One table that a refresh makes."""

    name: str
    scope: Scope


TOKEN_MODELS: tuple[Model, ...] = (
    Model("touched_keys", "temp"),
    Model("touched_traces", "temp"),
    Model("touched_tasks", "temp"),
    Model("trace_tasks", "task"),
    Model("told_logs", "temp"),
    Model("task_spans", "temp"),
    Model("span_tree", "temp"),
    Model("call_views", "temp"),
    Model("tries_with_usage", "temp"),
    Model("call_tries", "temp"),
    Model("calls", "temp"),
    Model("tool_calls", "temp"),
    Model("rollup_usage", "temp"),
    Model("step_rows", "temp"),
    Model("step_attempts", "temp"),
    Model("step_figures", "temp"),
    Model("step_lines", "temp"),
    Model("step_loops", "temp"),
    Model("step_deployments", "temp"),
    Model("price_editions_before", "temp"),
    Model("step_prices", "temp"),
    Model("step_costs", "temp"),
    Model("task_facts", "temp"),
    Model("step_resent", "temp"),
    Model("task_passes", "temp"),
    Model("steps", "task"),
    Model("step_segments", "temp"),
    Model("step_buckets", "task"),
    Model("task_unexplained", "temp"),
    Model("task_tokens", "task"),
)

LEDGER_MODELS: tuple[Model, ...] = (
    Model("gpus_before", "temp"),
    Model("gpu_seen_before", "temp"),
    Model("gpu_paid_before", "temp"),
    Model("gpu_sightings", "temp"),
    Model("gpu_seen", "whole"),
    Model("deployment_use", "temp"),
    Model("gpu_slots", "temp"),
    Model("gpus", "whole"),
    Model("gpu_holds", "whole"),
    Model("gpu_rates", "whole"),
    Model("gpu_paid_after", "temp"),
    Model("ledger_reach", "temp"),
    Model("dirty_quarters", "temp"),
    Model("ledger_gpus", "temp"),
    Model("ledger_pools", "temp"),
    Model("ledger_held", "temp"),
    Model("ledger_steps", "temp"),
    Model("ledger_pieces", "temp"),
    Model("ledger_windows", "temp"),
    Model("ledger_islands", "temp"),
    Model("ledger_segments", "temp"),
    Model("ledger_replica_moments", "temp"),
    Model("ledger_named_shares", "temp"),
    Model("ledger_named_stretches", "temp"),
    Model("ledger_fleets", "temp"),
    Model("ledger_situations", "temp"),
    Model("ledger_situation_gpus", "temp"),
    Model("ledger_situation_replicas", "temp"),
    Model("ledger_leaves", "temp"),
    Model("ledger_tools", "temp"),
    Model("ledger_task_holds", "temp"),
    Model("ledger_deeds", "temp"),
    Model("ledger_waits", "temp"),
    Model("ledger_moments", "temp"),
    Model("concurrency_days_before", "temp"),
    Model("concurrency_days", "whole"),
    Model("deployment_concurrency", "quarter"),
    Model("ledger_loads", "temp"),
    Model("ledger_laid", "temp"),
    Model("ledger_load_prices", "temp"),
    Model("ledger_shares", "temp"),
    Model("ledger_runs", "temp"),
    Model("gpu_timeline", "quarter"),
    Model("ledger_bills", "temp"),
    Model("gpu_ledger", "quarter"),
    Model("ledger_cells", "temp"),
    Model("ledger_claims", "temp"),
    Model("ledger_paid", "temp"),
    Model("step_gpu", "quarter"),
    Model("task_waits", "quarter"),
    Model("unplaced_steps", "quarter"),
)

TOTAL_MODELS: tuple[Model, ...] = (
    Model("touched_totals", "temp"),
    Model("task_buckets", "task"),
    Model("tasks", "task"),
)

MODELS = TOKEN_MODELS + LEDGER_MODELS + TOTAL_MODELS
