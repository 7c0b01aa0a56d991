"""Money of tokens: dated prices, tiers, caches, what is not priced, and what own GPUs served."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from token_bench import LATER_NS, Seen, load, look, rows_of

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Deployment, Gpus, Prices, Settings
from warehouse.testing import store
from warehouse.testing_rows import START_NS, Row, agent, llm

MICRO = Decimal("0.000001")
DAY = date(2026, 1, 1)
BOOK = {
    "tokens": [
        {"model": "plain", "from": DAY, "input_usd_per_mtok": 2, "output_usd_per_mtok": 10},
        {
            "model": "cached", "from": DAY, "input_usd_per_mtok": 10, "cache_read_usd_per_mtok": 1,
            "cache_write_usd_per_mtok": 12.5, "cache_write_1h_usd_per_mtok": 20, "output_usd_per_mtok": 50,
        },
        {"model": "plain", "from": DAY, "service_tier": "priority", "input_usd_per_mtok": 3,
         "output_usd_per_mtok": 15},
        {"model": "halves", "from": DAY, "input_usd_per_mtok": "0.0000005", "output_usd_per_mtok": 0},
    ]
}  # fmt: skip
CASES: Mapping[str, list[Row]] = {
    "plain": [llm("call", 1, 2, tokens=(1000, 100), model_requested="plain")],
    "reads at the input price": [
        llm("call", 1, 2, tokens=(1000, 100), cache_read_tokens=900, model_requested="plain")
    ],
    "cached": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="cached", cache_read_tokens=500,
            cache_write_tokens=300, cache_write_1h_tokens=100)
    ],
    "cache beyond the input": [
        llm("call", 1, 2, tokens=(100, 0), model_requested="cached", cache_read_tokens=500,
            cache_write_tokens=9)
    ],
    "ambiguous": [
        llm("call", 1, 2, tokens=(5000, 0), model_requested="cached", cache_read_tokens=3000,
            input_tokens_high=8000, inclusivity="ambiguous")
    ],
    "half to even": [llm("call", 1, 2, tokens=(1, 0), model_requested="halves")],
    "half to even, up": [llm("call", 1, 2, tokens=(3, 0), model_requested="halves")],
    "unpriced": [
        agent("agent", 0, 9),
        llm("call", 1, 2, parent="agent", tokens=(1000, 100), model_requested="plain"),
        llm("mine", 3, 4, parent="agent", tokens=(2000, 200), model_requested="our-own-model"),
    ],
    "free of tokens": [llm("call", 1, 2, tokens=(0, 0), model_requested="our-own-model")],
    "answer from a cache": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="plain", cached_answer=True)
    ],
    "unknown usage": [llm("call", 1, 2, model_requested="plain")],
    "output unknown": [llm("call", 1, 2, model_requested="plain", input_tokens=1000)],
    "own GPUs": [llm("call", 1, 2, tokens=(1000, 100), model_requested="own/model-7b")],
    "own GPUs by address": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="plain", server_address="10.0.0.1",
            server_port=8000)
    ],
    "catalogue tier": [
        llm("call", 1, 2, tokens=(200_001, 0), model_requested="claude-sonnet-4-5", provider="anthropic")
    ],
    "catalogue base": [
        llm("call", 1, 2, tokens=(200_000, 0), model_requested="claude-sonnet-4-5", provider="anthropic")
    ],
    "inclusive cache": [
        llm("call", 1, 2, tokens=(130_213, 100), model_requested="claude-sonnet-4-5", provider="anthropic",
            cache_read_tokens=128_955, cache_write_tokens=1253)
    ],
    "batch": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="claude-sonnet-4-5", provider="anthropic",
            service_tier="batch")
    ],
    "tier of the user": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="plain", service_tier="priority")
    ],
    "tier without a price": [
        llm("call", 1, 2, tokens=(1000, 100), model_requested="plain", service_tier="flex")
    ],
}  # fmt: skip


def make_settings(folder: Path) -> Settings:
    file = folder / "prices.yaml"
    file.write_text(yaml.safe_dump(BOOK))
    own = Deployment(
        name="own",
        models=["own/*"],
        addresses=["10.0.0.1:8000"],
        gpus=Gpus(sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal("3.6")),
    )
    return Settings(prices=Prices(file=file), deployments=[own])


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    folder = tmp_path_factory.mktemp("money")
    return look(folder / "data", CASES, make_settings(folder))


@pytest.mark.parametrize(
    ("case", "usd"),
    [
        ("plain", 1000 * 2 + 100 * 10),
        ("reads at the input price", 1000 * 2 + 100 * 10),
        ("cached", 200 * 10 + 500 * 1 + 200 * Decimal("12.5") + 100 * 20 + 100 * 50),
        ("cache beyond the input", 100 * 1),
        ("ambiguous", 2000 * 10 + 3000 * 1),
        ("free of tokens", 0),
        ("answer from a cache", 0),
        ("unknown usage", None),
        ("output unknown", None),
        ("own GPUs", 0),
        ("catalogue base", 200_000 * 3),
        ("catalogue tier", 200_001 * 6),
        ("batch", (1000 * 3 + 100 * 15) / Decimal(2)),
        ("tier of the user", 1000 * 3 + 100 * 15),
        ("tier without a price", None),
        ("inclusive cache", 5 * 3 + 128_955 * Decimal("0.3") + 1253 * Decimal("3.75") + 100 * 15),
    ],
)
def test_a_call_costs_its_tokens_at_the_price_of_its_time(
    seen: Seen, case: str, usd: Decimal | int | None
) -> None:
    """Uncached input, cache reads, cache writes (an hour's apart) and output each at their own price."""
    wanted = None if usd is None else usd * MICRO

    assert seen.figures(case, "token_cost_usd") == (wanted,)


def test_a_part_without_a_price_is_told(seen: Seen) -> None:
    """Cache reads that no price names cost what input costs, and the source says so."""
    assert seen.steps["reads at the input price"]["call"]["price_source"].endswith("at the input price")


def test_a_tier_says_what_share_it_was_sold_at(seen: Seen) -> None:
    """The source of a batch price names the share and whose it is."""
    source = seen.steps["batch"]["call"]["price_source"]

    assert "batch at 0.5 of it (published batch discount" in source


def test_only_what_no_price_knows_is_unmatched(tmp_path: Path) -> None:
    """A failed try of a priced model told no usage: its cost is unknown, but not for want of a price."""
    failed = llm("failed", 1, 2, parent="agent", model_requested="plain", status="error", error_type="429")
    cases = {"tries": [agent("agent", 0, 9), failed, *CASES["unpriced"][2:]]}
    with store(tmp_path / "data", make_settings(tmp_path)) as warehouse:
        load(warehouse, cases)
        warehouse.refresh(LATER_NS)
        rows = warehouse.report("unmatched").to_pylist()

    assert [(row["model"], row["calls"]) for row in rows] == [("our-own-model", 1)]


def test_half_a_unit_goes_to_the_even_one(seen: Seen) -> None:
    """Costs round half to even at 1e-12 USD."""
    assert seen.figures("half to even", "token_cost_usd") == (Decimal(0),)
    assert seen.figures("half to even, up", "token_cost_usd") == (Decimal("0.000000000002"),)


def test_an_ambiguous_input_has_a_band(seen: Seen) -> None:
    """Where nobody knows whether input holds the cache, both readings are priced, the declared one first."""
    low, high = seen.figures("ambiguous", "token_cost_low_usd", "token_cost_high_usd")

    assert (low, high) == (23_000 * MICRO, 53_000 * MICRO)


def test_an_unpriced_model_is_never_free(seen: Seen) -> None:
    """Its share of the total is shown as missing; no cost multiplier is made of half a total."""
    assert seen.steps["unpriced"]["mine"]["token_cost_usd"] is None
    assert seen.figures("unpriced", "total_cost_usd", "priced_ratio", "cost_multiplier") == (
        3000 * MICRO,
        pytest.approx(1100 / 3300),
        None,
    )
    assert seen.figures("unpriced", "token_multiplier") != (None,)


@pytest.mark.parametrize("case", ["own GPUs", "own GPUs by address"])
def test_own_gpus_are_paid_by_the_second_and_never_twice(seen: Seen, case: str) -> None:
    """A call that a deployment with GPUs served pays for no tokens, whatever the model's list price."""
    call = seen.steps[case]["call"]

    assert (call["deployment"], call["paid_by"], call["token_cost_usd"]) == ("own", "gpu", 0)


def test_the_laws_hold_for_all_prices(seen: Seen) -> None:
    """Every split of money is exact to 1e-12 USD."""
    assert seen.broken == []


def test_a_new_price_does_not_change_what_was_paid(tmp_path: Path) -> None:
    """Prices hold from their date on: a call before it keeps the old price."""
    noon_ns = START_NS + 100 * NS_PER_S
    rows = [{"model": "m", "from": DAY, "input_usd_per_mtok": 1, "output_usd_per_mtok": 0}]
    rows.append({**rows[0], "from": to_datetime(noon_ns), "input_usd_per_mtok": 5})
    file = tmp_path / "prices.yaml"
    file.write_text(yaml.safe_dump({"tokens": rows}))
    cases = {
        "before": [llm("call", 99, 120, tokens=(100, 0), model_requested="m")],
        "after": [llm("call", 100, 120, tokens=(100, 0), model_requested="m")],
    }
    seen = look(tmp_path / "data", cases, Settings(prices=Prices(file=file)))

    assert seen.figures("before", "token_cost_usd") == (100 * MICRO,)
    assert seen.figures("after", "token_cost_usd") == (500 * MICRO,)


def test_gpu_money_follows_the_first_token(tmp_path: Path) -> None:
    """Time to the first token less the queue is the prompt's, the rest the answer's; else weights decide."""
    own = make_settings(tmp_path).deployments[0]
    cases = {
        "timed": [
            agent("agent", 0, 9),
            llm("call", 1, 5, parent="agent", tokens=(1000, 100), model_requested="own/m",
                finish_reason="stop", ttft_ns=1_500_000_000, queue_ns=500_000_000),
        ],
        "weighed": [llm("call", 10, 14, tokens=(600, 100), model_requested="own/m", finish_reason="stop")],
    }  # fmt: skip
    with store(tmp_path / "data", Settings(deployments=[own])) as warehouse:
        load(warehouse, cases)
        warehouse.refresh(LATER_NS)
        cost = {
            (row["task_id"], row["bucket"]): row["gpu_cost_usd"] for row in rows_of(warehouse, "task_buckets")
        }
        timed, weighed = (
            row["task_id"] for row in sorted(rows_of(warehouse, "tasks"), key=lambda r: r["start_ns"])
        )
        spent = {row["task_id"]: row["gpu_cost_usd"] for row in rows_of(warehouse, "tasks")}

        assert warehouse.check_laws() == []
    # 3.5 s busy of 3.6 USD an hour: 1 s before the first token and 2.5 s after it.
    assert spent[timed] == Decimal("0.0035")
    assert cost[timed, "first_prompt"] == Decimal("0.001")
    assert cost[timed, "answer"] == Decimal("0.0025")
    assert spent[weighed] == Decimal("0.004")
    assert cost[weighed, "first_prompt"] == Decimal("0.0024")
    assert cost[weighed, "answer"] == Decimal("0.0016")
