"""The table of fixtures with numbers: every literal of it, from the bytes sent to the report read."""

import itertools
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import yaml
from fault_table_cases import (
    CASES,
    DAY_S,
    IST_2330_S,
    NAMES,
    NOON_S,
    ORDERS,
    REPLAYED,
)
from findings_bench import (
    LATER_NS,
    Seen,
    load,
    look,
    request,
)  # fmt: skip

from collector.decode.testing import START_NS
from taximeter.clock import NS_PER_S, to_datetime
from taximeter.settings import Prices, Settings
from warehouse.testing import store


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Seen]:
    folder = tmp_path_factory.mktemp("table")
    noon = to_datetime(START_NS + NOON_S * NS_PER_S)
    row = {"model": "house", "from": "2026-01-01", "input_usd_per_mtok": 1, "output_usd_per_mtok": 0}
    book = folder / "prices.yaml"
    book.write_text(yaml.safe_dump({"tokens": [row, {**row, "from": noon, "input_usd_per_mtok": 5}]}))
    with look(folder / "data", CASES, Settings(prices=Prices(file=book))) as found:
        yield found


def usd(amount: Decimal | None, digits: str = "0.00001") -> str | None:
    return None if amount is None else str(amount.quantize(Decimal(digits)))


@pytest.mark.row("inclusive cache")
@pytest.mark.fault(21, 22, 23, 27)
def test_an_inclusive_cache_is_not_added_again(seen: Seen) -> None:
    """130,213 tokens of which 130,208 were cached cost $0.04490: 5 of them are fresh."""
    span = seen.explained("inclusive cache")[1]

    assert (span["input_tokens"], span["parts"][0]["tokens"]) == (130_213, 5)
    assert usd(span["token_cost_usd"]) == "0.04490"


@pytest.mark.row("exclusive, evident")
@pytest.mark.fault(25, 30, 34)
def test_an_evident_exclusive_input_gets_its_cache(seen: Seen) -> None:
    """An input of 5 beside 130,208 cached tokens leaves them out: the same tokens, the same money."""
    span = seen.explained("exclusive, evident")[1]

    assert (span["input_tokens"], span["inclusivity"], span["flags"]) == (130_213, "proved", ["cache_added"])
    assert usd(span["token_cost_usd"]) == "0.04490"


@pytest.mark.row("exclusive, ambiguous")
def test_an_ambiguous_input_is_a_band(seen: Seen) -> None:
    """Where nobody says and nothing proves, the money is $0.0084 to $0.0174 and the span is flagged."""
    task = seen.task("exclusive, ambiguous")

    assert (usd(task["token_cost_low_usd"], "0.0001"), usd(task["token_cost_high_usd"], "0.0001")) == (
        "0.0084",
        "0.0174",
    )
    assert seen.explained("exclusive, ambiguous")[1]["inclusivity"] == "ambiguous"


@pytest.mark.row("roll-up")
@pytest.mark.fault(1, 2, 3, 5, 6, 14)
@pytest.mark.parametrize(("name", "spans"), [("roll-up 1 level", 1), ("roll-up 3x", 2)])
def test_a_roll_up_counts_once_at_any_depth(seen: Seen, name: str, spans: int) -> None:
    """Frames that repeat 56/5 + 57/6 add nothing: 124 tokens; the finding shows what a plain sum would be."""
    (left_out,) = seen.found("double_counts", name)

    assert seen.task(name)["total_tokens"] == 124
    assert (left_out["spans"], left_out["tokens"], left_out["plain_sum_tokens"]) == (
        spans,
        124 * spans,
        124 * (spans + 1),
    )
    assert usd(left_out["cost_usd"], "0.000001") == usd(spans * Decimal("0.000504"), "0.000001")


@pytest.mark.row("roll-up that does not match")
def test_what_a_sum_says_beyond_its_parts_is_unexplained(seen: Seen) -> None:
    """200/20 over 113/11: 124 count, 96 are shown as unexplained and cost nothing."""
    task = seen.task("roll-up that does not match")

    assert (task["total_tokens"], task["unexplained_tokens"]) == (124, 96)
    assert task["token_cost_usd"] == Decimal("0.000504")


@pytest.mark.row("roll-up, arrival order")
@pytest.mark.fault(70)
@pytest.mark.parametrize("order", ORDERS)
def test_the_order_of_arrival_changes_no_total(seen: Seen, order: tuple[int, ...]) -> None:
    """All six orders, one span per request, come to the same totals."""
    task, usual = seen.task(f"order {order}"), seen.task("roll-up 1 level")

    assert {**task, "task_id": 0, "trace_ids": 0} == {**usual, "task_id": 0, "trace_ids": 0}


@pytest.mark.row("twin LLM")
@pytest.mark.fault(9, 10)
def test_a_call_within_a_call_is_one_call(seen: Seen) -> None:
    """1000/100 told twice is one call of $0.0035, and the cache detail of either view is kept."""
    task, detailed = seen.task("twin"), seen.task("twin with detail")

    assert (task["llm_calls"], task["token_cost_usd"]) == (1, Decimal("0.0035"))
    assert (detailed["llm_calls"], detailed["cache_read_tokens"]) == (1, 400)
    assert detailed["token_cost_usd"] == Decimal("0.003")


@pytest.mark.row("cumulative stream")
@pytest.mark.fault(18, 19)
@pytest.mark.parametrize("name", ["stream told thrice", "chunks below a call"])
def test_cumulative_figures_of_a_stream_are_not_summed(seen: Seen, name: str) -> None:
    """Chunks that say 5, 12 and 30 of one answer end at 100/30."""
    task = seen.task(name)

    assert (task["llm_calls"], task["input_tokens"], task["output_tokens"]) == (1, 100, 30)


@pytest.mark.row("total gap")
@pytest.mark.fault(26)
def test_a_gap_in_the_total_is_the_cache_and_no_output(seen: Seen) -> None:
    """A total of 8,712 beside 3 + 442 is explained by the cache: the output stays 442, $0.01033."""
    task = seen.task("total gap")

    assert (task["output_tokens"], task["input_tokens"], task["unexplained_tokens"]) == (442, 8_270, 0)
    assert usd(task["token_cost_usd"]) == "0.01033"


@pytest.mark.row("hidden tokens")
@pytest.mark.fault(41)
def test_hidden_tokens_are_shown_beside_the_providers_cost(seen: Seen) -> None:
    """A total of 114 over 3 + 9: 102 are unclassified, and the provider's $0.000837 is kept beside ours."""
    task = seen.task("hidden tokens")
    (drift,) = seen.found("cost_drift", "hidden tokens")

    assert (task["total_tokens"], task["unexplained_tokens"]) == (12, 102)
    assert task["reported_cost_usd"] == drift["reported_cost_usd"] == Decimal("0.000837")
    assert drift["difference_usd"] == task["token_cost_usd"] - Decimal("0.000837")


@pytest.mark.row("types")
@pytest.mark.fault(33, 42)
def test_a_number_is_taken_or_refused_and_never_poisons(seen: Seen) -> None:
    """Text and real forms of 1200 are 1200; five others are refused with a reason and in no sum."""
    spans = seen.explained("types")
    refused = {place: spans[place]["refused"] for place in range(2, 9)}

    assert [spans[place]["input_tokens"] for place in range(2, 9)] == [1200, 1200, *[None] * 5]
    assert refused == {
        2: None,
        3: None,
        4: ["input_tokens true (not_a_number)"],
        5: ["input_tokens text of 3 bytes (not_a_number)"],
        6: ["input_tokens -500 (negative)"],
        7: ["input_tokens NaN (not_finite)"],
        8: ["input_tokens 1e+19 (too_large)"],
    }
    assert (seen.task("types")["input_tokens"], seen.task("types")["output_tokens"]) == (2_400, 7)


@pytest.mark.row("tier edges")
@pytest.mark.fault(35, 37, 38)
def test_a_tier_is_told_by_the_whole_prompt_and_holds_for_all_of_it(seen: Seen) -> None:
    """199,999 and 200,000 at the base price, 200,001 and a prompt of 300,000 cached tokens at the premium."""
    spans = seen.explained("tiers")

    assert [spans[place]["token_cost_usd"] * 1_000_000 for place in (2, 3, 4, 9)] == [
        199_999 * 3,
        200_000 * 3,
        200_001 * 6,
        Decimal(300_000) * Decimal("0.6"),
    ]


@pytest.mark.row("names")
@pytest.mark.fault(43, 45, 46, 58)
def test_every_spelling_finds_one_row_and_an_unknown_name_is_listed(seen: Seen) -> None:
    """Dates, marks, prefix and case lead to one price row; an unknown one is listed and never $0."""
    spans = seen.explained("names")

    assert {spans[place]["priced_as"] for place in range(2, 2 + len(NAMES))} == {
        "anthropic/claude-sonnet-4-5"
    }
    assert len({spans[place]["price_id"] for place in range(2, 2 + len(NAMES))}) == 1
    assert spans[20]["token_cost_usd"] is None
    assert [row["tokens"] for row in seen.rows("unpriced") if row["model"] == "mystery-9b"] == [777]


@pytest.mark.row("names of a cloud")
@pytest.mark.fault(47)
def test_a_region_and_an_arn_find_one_row(seen: Seen) -> None:
    """The regional id and its inference profile are priced alike."""
    spans = seen.explained("names of a cloud")

    assert spans[2]["price_id"] == spans[3]["price_id"] is not None


@pytest.mark.row("reprice")
@pytest.mark.fault(53)
def test_a_span_keeps_the_price_of_its_time(seen: Seen) -> None:
    """A price that changes at noon: 11:59 is paid at the first, 12:01 at the second."""
    assert [seen.task(f"house at {at}")["token_cost_usd"] for at in ("11:59", "12:01")] == [1, 5]


@pytest.mark.row("retry group")
@pytest.mark.fault(63)
def test_tries_of_one_call_are_one_call(seen: Seen) -> None:
    """Two errors and a success with the same question are one call of three tries."""
    task = seen.task("retry group")
    (retry,) = seen.found("retries", "retry group")

    assert (task["llm_calls"], task["llm_attempts"], task["retries"]) == (1, 3, 2)
    assert (retry["attempts"], len(retry["step_ids"]), retry["wasted_tokens"]) == (3, 3, None)


@pytest.mark.row("orphan")
@pytest.mark.fault(67, 69, 71)
@pytest.mark.parametrize(
    ("name", "status"),
    [
        ("orphan, parent at once", "ok"),
        ("orphan, parent late", "ok"),
        ("orphan, parent never", "interrupted"),
    ],
)
def test_a_missing_parent_changes_no_total(seen: Seen, name: str, status: str) -> None:
    """The parent at once, after an hour or never: the same tokens and money, and the status tells."""
    task = seen.task(name)

    assert (task["total_tokens"], task["token_cost_usd"], task["llm_calls"]) == (61, Decimal("0.000243"), 1)
    assert task["status"] == status


@pytest.mark.row("replay")
@pytest.mark.fault(73, 74, 75, 78)
def test_a_replayed_batch_counts_once_and_a_copy_is_flagged(seen: Seen) -> None:
    """The same request twice is one task; under new ids it is listed as probably sent twice."""
    again = seen.found("double_counts", "sent again with new ids")

    assert seen.task("replayed")["total_tokens"] == 11
    assert [(row["is_corrected"], row["tokens"], row["cost_usd"]) for row in again] == [
        (False, 11, Decimal("0.000045"))
    ]


@pytest.mark.fault(73)
def test_a_batch_that_comes_again_after_a_restart_counts_once(tmp_path: Path) -> None:
    """What was loaded before the warehouse was closed is not counted again after it was opened."""
    for _ in range(2):
        with store(tmp_path) as warehouse:
            load(warehouse, request(1, REPLAYED, {}))
            warehouse.refresh(LATER_NS)
            assert warehouse.sql("select total_tokens, llm_calls from tasks") == [(11, 1)]


@pytest.mark.row("skew")
@pytest.mark.fault(79)
def test_a_wrong_clock_is_told_and_costs_nothing(seen: Seen) -> None:
    """A child before its parent keeps its times and says so; an end before the start lasts no time."""
    spans = seen.explained("skew")

    assert (spans[2]["skew_s"], spans[2]["duration_s"]) == (2.0, 1.0)
    assert (spans[3]["flags"], spans[3]["duration_s"]) == (["end_before_start"], 0)
    assert seen.task("skew")["total_tokens"] == 124


@pytest.mark.row("day sums")
@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "America/Los_Angeles"])
def test_days_sum_to_the_range_in_every_zone(seen: Seen, zone: str) -> None:
    """Five calls at 23:30 in India, asked day by day or as one range, come to the same money."""
    mine = seen.traces["late evenings"]

    def spent(since: int, until: int) -> list[Decimal]:
        rows = seen.rows("spend", since=since, until=until, zone=zone, group_by="task")
        return [row["token_cost_usd"] for row in rows if row["group_key"] == mine]

    start = START_NS + (IST_2330_S - 18 * 3_600) * NS_PER_S
    border = [start + day * DAY_S * NS_PER_S for day in range(6)]
    single = [sum(spent(since, until)) for since, until in itertools.pairwise(border)]

    assert single == [Decimal("0.003")] * 5
    assert sum(spent(border[0], border[5])) == sum(single)


@pytest.mark.row("loops")
@pytest.mark.fault(100)
@pytest.mark.parametrize(
    ("name", "loops", "forms"),
    [
        ("identical", 2, {("identical", True, 2)}),
        ("cycle", 2, {("cycle of 2", True, 1)}),
        ("near-duplicate", 0, {("near-duplicate", False, 3)}),
    ],
)
def test_loops_are_told_apart_and_only_proved_ones_count(
    seen: Seen, name: str, loops: int, forms: set[tuple[str, bool, int]]
) -> None:
    """The same call again, a cycle, and one that differs by its time alone, which is never counted."""
    found = seen.found("loops", name)

    assert seen.task(name)["loops"] == loops
    assert {(row["form"], bool(row["is_counted"]), row["calls"]) for row in found} == forms
    assert all(len(row["step_ids"]) == row["calls"] for row in found)
    assert sum(row["round_tokens"] or 0 for row in found) == (220 if name == "identical" else 0)


def test_a_plain_sum_less_what_was_left_out_is_what_counted(seen: Seen) -> None:
    """In every task with a double the finding accounts for each token between the plain sum and the total."""
    corrected = [row for row in seen.rows("double_counts") if row["is_corrected"]]
    tasks = {row["task_id"]: row for row in seen.rows("tasks")}

    assert len(corrected) > 10
    for row in corrected:
        left_out = sum(other["tokens"] for other in corrected if other["task_id"] == row["task_id"])
        assert row["plain_sum_tokens"] - left_out == tasks[row["task_id"]]["total_tokens"]


def test_no_law_is_broken_by_any_row_of_the_table(seen: Seen) -> None:
    """Buckets sum to steps and tasks, and multipliers are ratios, in all of it."""
    assert seen.warehouse.check_laws() == []
