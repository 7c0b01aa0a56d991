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
    # Not computed where this table is empty: nothing then asks for it.
    unless_empty: str | None = None


TOKEN_MODELS: tuple[Model, ...] = (
    Model("touched_keys", "temp"),
    Model("touched_traces", "temp"),
    Model("touched_tasks", "temp"),
    Model("trace_tasks", "task", "touched_tasks"),
    Model("told_logs", "temp", "touched_tasks"),
    Model("task_spans", "temp", "touched_tasks"),
    Model("span_tree", "temp", "touched_tasks"),
    Model("call_views", "temp", "touched_tasks"),
    Model("tries_with_usage", "temp", "touched_tasks"),
    Model("call_tries", "temp", "touched_tasks"),
    Model("calls", "temp", "touched_tasks"),
    Model("tool_calls", "temp", "touched_tasks"),
    Model("rollup_usage", "temp", "touched_tasks"),
    Model("step_rows", "temp", "touched_tasks"),
    Model("step_attempts", "temp", "touched_tasks"),
    Model("step_figures", "temp", "touched_tasks"),
    Model("step_lines", "temp", "touched_tasks"),
    Model("step_loops", "temp", "touched_tasks"),
    Model("step_deployments", "temp", "touched_tasks"),
    Model("price_editions_before", "temp", "touched_tasks"),
    Model("step_prices", "temp", "touched_tasks"),
    Model("step_costs", "temp", "touched_tasks"),
    Model("task_facts", "temp", "touched_tasks"),
    Model("step_resent", "temp", "touched_tasks"),
    Model("task_passes", "temp", "touched_tasks"),
    Model("steps", "task", "touched_tasks"),
    Model("step_segments", "temp", "touched_tasks"),
    Model("step_buckets", "task", "touched_tasks"),
    Model("task_unexplained", "temp", "touched_tasks"),
    Model("task_tokens", "task", "touched_tasks"),
)

LEDGER_MODELS: tuple[Model, ...] = (
    Model("gpus_before", "temp"),
    Model("gpu_keys_before", "temp"),
    Model("gpu_keys", "whole"),
    Model("gpu_renamed", "temp"),
    Model("gpu_servings_before", "temp"),
    Model("gpu_servings", "whole"),
    Model("gpu_placed", "temp"),
    Model("gpu_seen_before", "temp"),
    Model("gpu_paid_before", "temp"),
    Model("engine_limits_before", "temp"),
    Model("engine_limits", "whole"),
    Model("host_offsets_before", "temp"),
    Model("host_offsets", "whole"),
    Model("gpu_sightings", "temp"),
    Model("gpu_seen", "whole"),
    Model("deployment_use", "temp"),
    Model("gpu_slots", "temp"),
    Model("gpus", "whole"),
    Model("gpu_cuts", "temp"),
    Model("gpu_holds", "whole"),
    Model("gpu_rates", "whole"),
    Model("gpu_paid_after", "temp"),
    Model("ledger_reach", "temp"),
    Model("dirty_quarters", "temp"),
    Model("ledger_gpus", "temp", "dirty_quarters"),
    Model("ledger_pools", "temp", "dirty_quarters"),
    Model("ledger_held", "temp", "dirty_quarters"),
    Model("ledger_steps", "temp", "dirty_quarters"),
    Model("ledger_pieces", "temp", "dirty_quarters"),
    Model("ledger_weights", "temp", "dirty_quarters"),
    Model("ledger_windows", "temp", "dirty_quarters"),
    Model("ledger_colds", "temp", "dirty_quarters"),
    Model("ledger_islands", "temp", "dirty_quarters"),
    Model("ledger_segments", "temp", "dirty_quarters"),
    Model("ledger_replica_moments", "temp", "dirty_quarters"),
    Model("ledger_named_stretches", "temp", "dirty_quarters"),
    Model("ledger_fleets", "temp", "dirty_quarters"),
    Model("ledger_situations", "temp", "dirty_quarters"),
    Model("ledger_situation_gpus", "temp", "dirty_quarters"),
    Model("ledger_situation_replicas", "temp", "dirty_quarters"),
    Model("ledger_leaves", "temp", "dirty_quarters"),
    Model("ledger_tools", "temp", "dirty_quarters"),
    Model("ledger_task_holds", "temp", "dirty_quarters"),
    Model("ledger_deeds", "temp", "dirty_quarters"),
    Model("ledger_waits", "temp", "dirty_quarters"),
    Model("ledger_moments", "temp", "dirty_quarters"),
    Model("ledger_weight_sums", "temp", "dirty_quarters"),
    Model("ledger_named_shares", "temp", "dirty_quarters"),
    Model("concurrency_days_before", "temp", "dirty_quarters"),
    Model("concurrency_days", "whole", "dirty_quarters"),
    Model("deployment_concurrency", "quarter", "dirty_quarters"),
    Model("ledger_loads", "temp", "dirty_quarters"),
    Model("ledger_band_loads", "temp", "dirty_quarters"),
    Model("ledger_laid", "temp", "dirty_quarters"),
    Model("ledger_load_prices", "temp", "dirty_quarters"),
    Model("ledger_shares", "temp", "dirty_quarters"),
    Model("ledger_runs", "temp", "dirty_quarters"),
    Model("gpu_timeline", "quarter", "dirty_quarters"),
    Model("ledger_bills", "temp", "dirty_quarters"),
    Model("gpu_ledger", "quarter", "dirty_quarters"),
    Model("concurrency_bands", "quarter", "dirty_quarters"),
    Model("ledger_cells", "temp", "dirty_quarters"),
    Model("ledger_claims", "temp", "dirty_quarters"),
    Model("ledger_paid", "temp", "dirty_quarters"),
    Model("step_gpu", "quarter", "dirty_quarters"),
    Model("task_waits", "quarter", "dirty_quarters"),
    Model("unplaced_steps", "quarter", "dirty_quarters"),
)

TOTAL_MODELS: tuple[Model, ...] = (
    Model("touched_totals", "temp"),
    Model("task_buckets", "task", "touched_tasks"),
    Model("tasks", "task", "touched_tasks"),
)

MODELS = TOKEN_MODELS + LEDGER_MODELS + TOTAL_MODELS
