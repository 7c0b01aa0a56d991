"""What a million tokens cost on own cards, beside the floor and the list."""

from datetime import date
from decimal import Decimal
from typing import Any

import pytest
import yaml

from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Deployment, Gpus, Hold, Prices, Settings
from warehouse.testing import store
from warehouse.testing_rows import START_NS, in_trace, llm, spans

QUARTER_NS = 900 * NS_PER_S
FIRST_NS = START_NS // QUARTER_NS * QUARTER_NS + QUARTER_NS  # a quarter-hour begins
FIRST_S = (FIRST_NS - START_NS) / NS_PER_S

Rows = dict[str, dict[str, Any]]


def own(name: str, usd: str | None) -> Deployment:
    """Declare one card, held for an hour."""
    hold = Hold.model_validate({"from": to_datetime(FIRST_NS), "to": to_datetime(FIRST_NS + 4 * QUARTER_NS)})
    price = None if usd is None else Decimal(usd)
    gpus = Gpus(sku="CARD", count=1, usd_per_gpu_hour=price, price_source="contract", held=[hold])
    return Deployment(name=name, models=[f"{name}/*"], concurrency=1, gpus=gpus)


def call(model: str, start_s: float, seconds: float, **columns: Any) -> dict[str, Any]:
    start_s += FIRST_S
    return llm(f"{model} {start_s}", start_s, start_s + seconds, model_requested=model, **columns)


@pytest.fixture(name="seen", scope="module")
def _seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("rates")
    file = folder / "prices.yaml"
    listed = {"model": "busy/a", "from": date(2026, 1, 1), "input_usd_per_mtok": 1, "output_usd_per_mtok": 9}
    file.write_text(yaml.safe_dump({"tokens": [{**listed, "source": "list"}]}), encoding="utf-8")
    settings = Settings(
        prices=Prices(file=file),
        deployments=[own("busy", "3.6"), own("idle", "3.6"), own("unpriced", None)],
    )
    rows = [
        # 300 s and 600 s of the hour serve, at 0.001 USD a second.
        call("busy/a", 0, 300, tokens=(200_000, 100_000)),
        *in_trace("b" * 32, [call("busy/b", 1_000, 600, tokens=(500_000, 100_000))]),
        *in_trace("c" * 32, [call("unpriced/a", 0, 300, tokens=(1_000, 1_000))]),
        # Its seconds are served and billed, its tokens are not known: it moves no rate.
        *in_trace("d" * 32, [call("busy/a", 2_000, 100)]),
    ]
    with store(folder / "data", settings) as warehouse:
        warehouse.load(spans(*rows))
        warehouse.refresh(START_NS + 86_400 * NS_PER_S)
        first = {"since_ns": FIRST_NS + 3 * QUARTER_NS}
        return {
            "all": warehouse.report("token_rates").to_pylist(),
            "idle quarter": warehouse.report("token_rates", **first).to_pylist(),
            "spend": warehouse.report("spend").to_pylist(),
            "idle_waste": warehouse.report("idle_waste").to_pylist(),
            "gpu_ledger": warehouse.report("gpu_ledger").to_pylist(),
        }


def rate(
    seen: dict[str, list[dict[str, Any]]], model: str | None, deployment: str = "busy"
) -> dict[str, Any]:
    (row,) = (row for row in seen["all"] if (row["deployment"], row["model"]) == (deployment, model))
    return row


def test_the_floor_is_the_money_of_serving_seconds(seen: dict[str, list[dict[str, Any]]]) -> None:
    """300 s at 0.001 USD for 300,000 tokens are 1 USD per million, and so are 600 s for 600,000."""
    assert rate(seen, "busy/a")["floor_usd_per_mtok"] == 1
    assert rate(seen, "busy/b")["floor_usd_per_mtok"] == 1


def test_the_measured_rate_carries_the_idle_time(seen: dict[str, list[dict[str, Any]]]) -> None:
    """With 1,000 of 3,600 s serving, a million tokens cost 3.6 times the floor."""
    row = rate(seen, "busy/a")

    assert row["utilization_ratio"] == pytest.approx(1_000 / 3_600)
    assert row["usd_per_mtok"] == pytest.approx(Decimal("3.6"))
    assert (row["calls"], row["calls_with_usage"], row["price_source"]) == (2, 1, "contract")


def test_the_list_price_stands_beside_it(seen: dict[str, list[dict[str, Any]]]) -> None:
    """The same tokens at the list's prices, with their source; a model that no list sells has none."""
    row = rate(seen, "busy/a")

    assert row["list_usd_per_mtok"] == pytest.approx((200_000 * 1 + 100_000 * 9) / Decimal(300_000))
    assert row["list_price_source"] == "list"
    assert rate(seen, "busy/b")["list_usd_per_mtok"] is None


def test_a_window_without_tokens_has_no_rate(seen: dict[str, list[dict[str, Any]]]) -> None:
    """A deployment that served nothing shows its bill and no rate: neither 0 nor infinite."""
    idle = [rate(seen, None, "idle"), *(r for r in seen["idle quarter"] if r["deployment"] == "busy")]

    assert [(row["model"], row["held_cost_usd"]) for row in idle] == [
        (None, Decimal("3.6")),
        (None, Decimal("0.9")),
    ]
    assert {(row["usd_per_mtok"], row["floor_usd_per_mtok"]) for row in idle} == {(None, None)}


def test_a_card_without_a_price_gives_no_rate(seen: dict[str, list[dict[str, Any]]]) -> None:
    """Where the card's price is unknown, so is the price of its tokens."""
    row = rate(seen, "unpriced/a", "unpriced")

    assert (row["usd_per_mtok"], row["floor_usd_per_mtok"], row["price_source"]) == (None, None, None)
    assert row["serving_gpu_s"] == 300


@pytest.mark.parametrize("report", ["spend", "idle_waste", "gpu_ledger"])
def test_no_dollar_is_shown_without_the_source_of_its_price(
    seen: dict[str, list[dict[str, Any]]], report: str
) -> None:
    """Every row with money of cards says where their price stands; a row without money names no source."""
    cost = "total_cost_usd" if report == "spend" else "cost_usd"

    assert {row["price_source"] for row in seen[report] if row[cost] is not None} == {"contract"}
    assert {row["price_source"] for row in seen[report] if row[cost] is None} <= {None}
