"""The finance page is computed: its example and its figures are what the product says."""

import re
from decimal import Decimal
from pathlib import Path

import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import NS_PER_S, SYSTEM_CLOCK, to_datetime
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.testing import store
from warehouse.testing_rows import START_NS, agent, in_trace, llm, spans, tool

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "attribution.md").read_text(encoding="utf-8")
RECORDED = ROOT / "../shared/data/agentcgroup-coding-agents/local_glm"


def table(first_column: str) -> dict[str, list[str]]:
    """Read the page's table that begins with a column: its rows by their first cell."""
    lines = PAGE[PAGE.index(f"| {first_column} |") :].split("\n\n")[0].splitlines()[2:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: row[1:] for row in rows}


def own(count: int, usd: str, held_s: int, concurrency: int = 2) -> Settings:
    held = Hold.model_validate(
        {"from": to_datetime(START_NS), "to": to_datetime(START_NS + held_s * NS_PER_S)}
    )
    gpus = Gpus(sku="CARD", count=count, usd_per_gpu_hour=Decimal(usd), price_source="contract", held=[held])
    return Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus, concurrency=concurrency)])


def test_the_worked_example_is_what_the_ledger_says(tmp_path: Path) -> None:
    """A's and B's cents, A's waiting and what nobody used, and their sum is the card's bill."""
    call = {"tokens": (10, 1), "model_requested": "own"}
    a = [
        agent("A", 0, 180),
        llm("first", 0, 60, parent="A", **call),
        tool("build", 60, 120, parent="A"),
        llm("second", 120, 180, parent="A", **call),
    ]
    with store(tmp_path / "d", own(1, "3.6", 600)) as warehouse:
        warehouse.load(spans(*in_trace("a" * 32, a), *in_trace("b" * 32, [llm("B", 30, 90, **call)])))
        warehouse.refresh(START_NS + 3_600 * NS_PER_S)
        tasks = {row["task_id"][0]: row for row in warehouse.report("tasks").to_pylist()}
        ledger = warehouse.report("gpu_ledger").to_pylist()
        assert warehouse.check_laws() == []

    _, a_pays, b_pays, nobody = table("seconds")["all"]
    assert (tasks["a"]["total_cost_usd"], tasks["b"]["total_cost_usd"]) == (Decimal(a_pays), Decimal(b_pays))
    assert sum(row["cost_usd"] for row in ledger if row["state"] == "no_task") == Decimal(nobody)
    assert sum(row["cost_usd"] for row in ledger) == Decimal("0.6")
    waiting = re.search(r"Of A's ([\d.]+) USD ([\d.]+) is waiting", PAGE)
    assert waiting is not None
    assert (tasks["a"]["total_cost_usd"], tasks["a"]["wait_cost_usd"]) == tuple(
        map(Decimal, waiting.groups())
    )


def test_a_thousand_cards_cost_what_the_page_says(tmp_path: Path) -> None:
    """A 32nd of 1,024 cards at 3 dollars an hour, unused for 30 days: 2.21 million in all, not 2.6."""
    month_s = 30 * 86_400
    with store(tmp_path / "d", own(32, "3", month_s)) as warehouse:
        warehouse.refresh(START_NS + 31 * 86_400 * NS_PER_S)
        (spent,) = warehouse.report("spend", per="range").to_pylist()

    told = re.search(r"1,024 cards at 3.00 USD an hour cost ([\d,]+) USD", PAGE)
    assert told is not None
    assert spent["total_cost_usd"] * 32 == Decimal(told[1].replace(",", "")) == 2_211_840


def test_the_recorded_tasks_have_the_multiples_that_the_page_tells(tmp_path: Path) -> None:
    """The distribution over the 74 recorded tasks, and what their tokens and dollars were spent on."""
    if not RECORDED.is_dir():
        pytest.skip("the recorded sessions of the local model are not here")
    gpus = Gpus(sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal("3.99"), price_source="reference")
    settings = Settings(deployments=[Deployment(name="glm", models=["*"], gpus=gpus, concurrency=1)])
    folder = DataFolder(tmp_path / "d").make()
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    import_paths([RECORDED], folder, options, SYSTEM_CLOCK, lambda *_: None)
    with store(folder.root, settings) as warehouse:
        warehouse.load_inbox()
        warehouse.refresh(SYSTEM_CLOCK.now_ns())
        (found,) = warehouse.sql(
            "select median(llm_calls), quantile_cont(token_multiplier, 0.1), median(token_multiplier),"
            " quantile_cont(token_multiplier, 0.9), median(cost_multiplier), count(*) from tasks"
        )
        buckets = {row["bucket"]: row for row in warehouse.report("multipliers").to_pylist()}

    tokens = {bucket: row["token_share_ratio"] * 100 for bucket, row in buckets.items()}
    assert found[5] == 74
    assert {name: cells[0] for name, cells in table("figure").items()} == {
        "model calls a task, median": f"{found[0]:.1f}",
        "token multiple, p10": f"{found[1]:.1f}",
        "token multiple, median": f"{found[2]:.1f}",
        "token multiple, p90": f"{found[3]:.1f}",
        "cost multiple, median": f"{found[4]:.1f}",
        "tokens that are context sent again": f"{tokens['resent_context']:.1f} %",
        "tokens that are new input": f"{tokens['fresh_later']:.1f} %",
        "tokens of first prompts and answers": f"{tokens['first_prompt'] + tokens['answer']:.1f} %",
        "cost that is waiting for tools": f"{buckets['gpu_wait']['share_ratio'] * 100:.1f} %",
    }
