"""The page of the reports is theirs: names, parameters and columns as they are."""

from pathlib import Path

from warehouse.report_page import columns, glossary, write
from warehouse.reports import read_reports
from warehouse.testing import store

ROOT = Path(__file__).parents[2]
# What others rely on: may be added to, never renamed.
PROMISED = {
    "billing": {"plan"},
    "bursts": {
        "deployment", "measure", "window_s", "windows", "empty_windows", "mean", "peak", "peak_to_mean_ratio",
        "asleep_at_peak_ratio",
    },
    "gpu_ledger": {
        "quarter_at", "gpu_id", "deployment", "state", "provenance", "gpu_s", "cost_usd", "provisional",
    },
    "idle_waste": {
        "cause", "deployment", "tool", "gpu_s", "cost_usd", "cost_low_usd", "cost_high_usd", "concurrency",
    },
    "multipliers": {"group_key", "bucket", "tokens", "cost_usd", "share_ratio", "factor_ratio"},
    "spend": {"day", "group_key", "token_cost_usd", "gpu_cost_usd", "idle_cost_usd", "total_cost_usd"},
    "task_steps": {
        "task_id", "step_id", "parent_step_id", "thread", "round", "kind", "name", "model", "deployment",
        "started_at", "duration_s", "slack_s", "status", "attempt", "counted", "ttft_s", "queue_s",
        "cost_usd", "token_provenance", "cost_provenance", "gpu_provenance",
    },
    "tasks": {
        "task_id", "trace_ids", "name", "agent", "task_type", "tenant", "session", "status", "started_at",
        "ended_at", "duration_s", "steps", "rounds", "llm_calls", "llm_attempts", "retries", "tool_calls",
        "tool_retries", "loops", "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens",
        "reasoning_tokens", "total_tokens", "unexplained_tokens", "single_pass_tokens", "token_multiplier",
        "token_cost_usd", "token_cost_low_usd", "token_cost_high_usd", "gpu_cost_usd", "wait_cost_usd",
        "total_cost_usd", "single_pass_cost_usd", "cost_multiplier", "usage_known_ratio", "priced_ratio",
        "gpu_known_ratio", "provisional",
    },
}  # fmt: skip


def test_the_page_is_what_the_reports_are(tmp_path: Path) -> None:
    """`python -m warehouse.report_page` writes exactly the page that is there."""
    with store(tmp_path) as warehouse:
        assert write(warehouse.connection) == (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_promised_columns_are_there_and_explained_ones_exist(tmp_path: Path) -> None:
    """No report loses a column that others rely on, and no word is explained that no report has."""
    with store(tmp_path) as warehouse:
        found = {name: set(columns(warehouse.connection, report)) for name, report in read_reports().items()}

    assert {name: wanted - found[name] for name, wanted in PROMISED.items() if wanted - found[name]} == {}
    assert glossary().keys() <= set().union(*found.values())
