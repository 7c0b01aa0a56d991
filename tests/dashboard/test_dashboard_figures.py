"""Sums, shares, words, colours and tables of the pages."""

import re
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.figures import (
    Sum,
    add,
    by_money,
    cautious,
    condense,
    dearest,
    is_simulated,
    ledger_shares,
    share_text,
    weighted_share,
)
from dashboard.palette import colour, in_order, order
from dashboard.tables import Column, badge, html_table
from dashboard.testing import table
from dashboard.testing_day import canned
from dashboard.views.gpus import need_text, price_sources
from dashboard.words import explain, label, say

PAGES = Path(__file__).parents[2] / "dashboard"
MONEY = st.one_of(st.none(), st.decimals(0, 1000, places=6))


@given(st.lists(MONEY, max_size=10))
def test_a_sum_knows_what_it_does_not_know(amounts: list[Decimal | None]) -> None:
    """A sum over unknown parts is marked, and a sum of nothing known is unknown, not zero."""
    total = add([{"usd": amount} for amount in amounts], "usd")

    known = [amount for amount in amounts if amount is not None]
    assert total == Sum(sum(known, Decimal(0)) if known else None, len(known) < len(amounts))


def test_shares_weigh_by_what_they_are_a_share_of() -> None:
    """Ten calls half known and ten wholly known are three quarters known; unknown counts as not known."""
    found = pa.table({"r": [0.5, 1.0, None], "n": [10, 10, 20]})

    assert weighted_share(found.slice(0, 2), "r", "n") == pytest.approx(0.75)
    assert weighted_share(found, "r", "n") == pytest.approx(0.375)
    assert weighted_share(found.slice(0, 0), "r", "n") is None


@pytest.mark.parametrize(
    ("ratio", "text"),
    [(1.0, "100.0 %"), (0.9999, ">99.9 %"), (0.5, "50.0 %"), (0.0001, "<0.1 %"), (0.0, "0.0 %"), (None, "–")],
)
def test_only_all_of_it_is_a_hundred_percent(ratio: float | None, text: str) -> None:
    """A share that lacks anything is never rounded up to all, nor a trace of something down to nothing."""
    assert share_text(ratio) == text


def test_ledger_shares_are_of_the_time_held() -> None:
    """GPU-seconds weigh, rows do not."""
    shares = ledger_shares(condense(canned()["gpu_ledger"]))

    assert shares.known == pytest.approx(0.75)
    assert shares.provisional == pytest.approx(0.5)
    assert shares.estimated == 0
    assert shares.priced == pytest.approx(0.75)
    assert ledger_shares([]).known is None


def test_unknown_money_comes_last() -> None:
    """The dearest come first; what has no known cost is not the cheapest, it is last."""
    found = pa.table({"cost_usd": pa.array([None, Decimal(0), Decimal(3)], pa.decimal128(38, 12))})

    assert [row["cost_usd"] for row in dearest(found, "cost_usd", 3)] == [Decimal(3), Decimal(0), None]
    assert len(dearest(found, "cost_usd", 2)) == 2
    assert by_money(found.to_pylist()) == dearest(found, "cost_usd", 3)


def test_condensing_the_ledger_keeps_its_time() -> None:
    """Fewer rows, the same GPU-seconds per state."""
    ledger = canned()["gpu_ledger"].to_pylist()
    few = condense(canned()["gpu_ledger"])

    assert len(few) < len(ledger)
    for state in {row["state"] for row in ledger}:
        assert sum(row["gpu_s"] for row in few if row["state"] == state) == pytest.approx(
            sum(row["gpu_s"] for row in ledger if row["state"] == state)
        )


def test_only_generated_rows_make_a_store_simulated() -> None:
    """Zero rows, an unknown count and a missing check are not simulated."""
    rows = [{"check": "simulated_rows", "value": value} for value in (0.0, None, 3.0)]

    assert [is_simulated([row]) for row in rows] == [False, False, True]
    assert not is_simulated([])


@pytest.mark.parametrize("group", ["states", "buckets", "kinds", "provenance"])
def test_everything_coloured_has_words(group: str) -> None:
    """Each state, bucket, kind and provenance has a colour of its own and a name to read."""
    names = order(group)
    shades = [colour(group, name) for name in names]

    assert len(set(shades)) == len(names)
    assert all(re.fullmatch(r"#[0-9a-f]{6}", shade) for shade in shades)
    assert all(label(group, name) for name in names)
    assert all(explain(group, name) for name in names) or group == "kinds"


def test_names_that_the_data_brings_stay_as_they_are() -> None:
    """A tool's name is its own word, in the quiet colour."""
    assert label("causes", "run_tests") == "run_tests"
    assert label("states", None) == "not named"
    assert colour("states", "run_tests") == colour("general", "other")
    assert in_order("states", {"zz", "spare", "serving", "aa"}) == ["serving", "spare", "aa", "zz"]


def test_every_word_that_a_page_says_exists() -> None:
    """Each key written in the code has its words in the file."""
    files = [path for path in PAGES.rglob("*.py") if not path.name.startswith("testing")]
    keys = {
        key
        for path in files
        for key in re.findall(r"""\bsay\(\s*"([a-z_0-9.]+)\"""", path.read_text(encoding="utf-8"))
    }

    assert len(keys) > 40
    for key in keys:
        assert say(key)


def test_every_column_has_a_title() -> None:
    """Each column of a table in the code has its title in the file."""
    keys = {
        key
        for path in (PAGES / "views").glob("*.py")
        for key in re.findall(r"""\bColumn\(\s*"([a-z_]+)\"""", path.read_text(encoding="utf-8"))
    }

    assert len(keys) > 15
    for key in keys:
        assert say(f"columns.{key}")


def test_a_table_never_lets_data_become_markup() -> None:
    """Names come from traces: they are escaped in cells, hints, links and badges."""
    evil = "<script>'\"&"
    columns = [
        Column("task", lambda _: evil, number=False, link=lambda _: f"task?q={evil}", hint=lambda _: evil)
    ]

    page = html_table(columns, [{}], evil) + badge(evil, evil, evil)

    assert "<script>" not in page
    assert page.count("&lt;script&gt;") == 7


def test_numbers_stand_on_the_right() -> None:
    """A number's cell and its head carry the class that aligns right."""
    page = html_table([Column("tokens", lambda _: "1,000")], [{}], "x")

    assert '<th scope="col" class="n">Tokens</th>' in page
    assert '<td class="n">1,000</td>' in page


def test_advice_needs_coverage() -> None:
    """Under 90 % of coverage the page says so and names no replica."""
    row = canned()["replica_need"].to_pylist()[0]

    assert "never needed" not in need_text(row | {"coverage_ratio": 0.89}, "contract")
    assert "89.0 %" in need_text(row | {"coverage_ratio": 0.89}, "contract")
    assert "never needed were 1 of 2 replicas" in need_text(row | {"coverage_ratio": 0.9}, "contract")


def test_advice_says_where_its_price_is_from() -> None:
    """The saving stands beside the source of the price; cards of mixed sources name all of them."""
    row = canned()["replica_need"].to_pylist()[0]
    sources = price_sources(canned()["gpus_now"].to_pylist())

    assert sources == {"qwen-coder": "contract 2026-11, price unknown"}
    assert "(contract 2026-11, price unknown)" in need_text(row, sources["qwen-coder"])


@given(MONEY, st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=3))
def test_zero_beside_something_unknown_is_unknown(amount: Decimal | None, shares: list[float | None]) -> None:
    """A report that leaves out what it does not know is never shown as $0.00."""
    judged = cautious(Sum(amount, partly=False), *shares)

    lacking = any(share is not None and share < 1 for share in shares)
    assert judged.partly == lacking
    if lacking or not any(share is not None for share in shares):
        assert judged.usd != 0
    if amount:
        assert judged.usd == amount


def test_advice_without_a_price_names_no_dollars() -> None:
    """Replicas can be spare without a known price; the saving is then unknown."""
    row = canned()["replica_need"].to_pylist()[0] | {"usd_per_replica_hour": None}

    assert "price unknown" in need_text(row, "–")
    assert "$" not in need_text(row, "–")


def test_the_canned_warehouse_refuses_columns_that_a_report_does_not_have() -> None:
    """The double cannot drift from the contract unseen."""
    with pytest.raises(KeyError, match="typo"):
        table("spend", [{"typo": 1}])
