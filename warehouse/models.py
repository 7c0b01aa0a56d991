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


TOKEN_MODELS: tuple[Model, ...] = ()

LEDGER_MODELS: tuple[Model, ...] = ()

TOTAL_MODELS: tuple[Model, ...] = ()

MODELS = TOKEN_MODELS + LEDGER_MODELS + TOTAL_MODELS
