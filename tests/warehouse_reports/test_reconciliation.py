"""A bill beside the meter: explained and unexplained, line by line, and nothing forced to fit."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import NS_PER_S, ManualClock, to_datetime
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.testing import Store, store
from warehouse.testing_rows import START_NS, in_trace, llm, spans

HEADER = (
    "BillingAccountId,BillingPeriodStart,ProviderName,ServiceName,SkuId,ResourceId,ChargeDescription,"
    "ChargePeriodStart,ChargePeriodEnd,BilledCost,BillingCurrency"
)
# A whole quarter-hour, so that the ledger's rows begin with the bill's hours.
ZERO_NS = START_NS // (900 * NS_PER_S) * 900 * NS_PER_S + 900 * NS_PER_S
HOUR_NS = 3_600 * NS_PER_S
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)


def at(hours: float) -> str:
    return to_datetime(ZERO_NS + round(hours * HOUR_NS)).strftime("%Y-%m-%dT%H:%M:%SZ")


def line(
    words: str,
    usd: str,
    *,
    provider: str = "cloud",
    hours: tuple[float, float] = (0, 2),
    currency: str = "USD",
) -> str:
    return f"a1,2026-09-01,{provider},Compute,,,{words},{at(hours[0])},{at(hours[1])},{usd},{currency}"


def own() -> Settings:
    """Make settings with a card at 3 dollars an hour that is held for 4 hours."""
    held = Hold.model_validate({"from": to_datetime(ZERO_NS), "to": to_datetime(ZERO_NS + 4 * HOUR_NS)})
    gpus = Gpus(sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal(3), price_source="contract", held=[held])
    return Settings(deployments=[Deployment(name="coder", models=["own"], gpus=gpus)])


def read(warehouse: Store, tmp_path: Path, name: str, *lines: str, now_s: int = 1) -> None:
    file = tmp_path / name
    file.write_text("\n".join([HEADER, *lines]) + "\n", encoding="utf-8")
    import_paths([file], warehouse.folder, OPTIONS, ManualClock(START_NS + now_s * NS_PER_S), lambda *_: None)
    warehouse.load_inbox()


def reconciled(tmp_path: Path, *lines: str) -> list[dict[str, Any]]:
    DataFolder(tmp_path / "d").make()
    with store(tmp_path / "d", own()) as warehouse:
        call = llm("call", 0, 1, tokens=(1_000_000, 0), model_requested="gpt-4o", provider="openai")
        call |= {"start_ns": ZERO_NS + HOUR_NS, "end_ns": ZERO_NS + HOUR_NS + NS_PER_S}
        warehouse.load(spans(*in_trace("1" * 32, [call])))
        read(warehouse, tmp_path, "bill.csv", *lines)
        warehouse.refresh(ZERO_NS + 5 * HOUR_NS)
        return warehouse.report("reconciliation").to_pylist()


def test_a_line_is_explained_by_the_card_or_the_calls_that_it_names(tmp_path: Path) -> None:
    """Two hours of a card at 3 dollars and a million tokens explain their lines; support explains nothing."""
    rows = reconciled(
        tmp_path,
        line("1 x H100 SXM on demand", "7.5"),
        line("Tokens gpt-4o", "2.75", provider="OpenAI"),
        line("Support plan", "100"),
    )

    assert [(row["explained_by"], row["explained_usd"], row["unexplained_usd"]) for row in rows] == [
        ("gpus", 6, Decimal("1.5")),
        ("calls", Decimal("2.5"), Decimal("0.25")),
        (None, 0, 100),
    ]
    assert rows[2]["why_not"].startswith("its texts name no card")


def test_lines_of_one_thing_share_it_to_the_last_digit(tmp_path: Path) -> None:
    """Three lines for the same card and hours share its six dollars, and the shares add up exactly."""
    rows = reconciled(tmp_path, *(line(f"H100-SXM part {part}", "2.333333") for part in range(3)))

    shares = [row["explained_usd"] for row in rows]
    assert sum(shares) == 6
    assert all(abs(share - 2) < Decimal("0.000001") for share in shares)
    assert all(row["explained_usd"] + row["unexplained_usd"] == row["billed_usd"] for row in rows)


def test_what_cannot_be_explained_is_unknown_or_all_of_it(tmp_path: Path) -> None:
    """A period of which the meter knows no cost explains nothing and says so, and so does a credit."""
    before, credit = reconciled(
        tmp_path, line("coder GPUs", "9", hours=(-5, -3)), line("H100-SXM credit", "-4", hours=(0, 1))
    )

    assert (before["explained_usd"], before["why_not"]) == (
        None,
        "nothing with a known cost happened in its period",
    )
    assert (credit["explained_usd"], credit["unexplained_usd"]) == (0, -4)


def test_a_newer_bill_of_a_month_replaces_the_older_and_the_same_file_counts_once(tmp_path: Path) -> None:
    """A corrected invoice does not add to the one before."""
    DataFolder(tmp_path / "d").make()
    with store(tmp_path / "d", own()) as warehouse:
        read(warehouse, tmp_path, "first.csv", line("H100-SXM", "7"), now_s=1)
        read(warehouse, tmp_path, "first again.csv", line("H100-SXM", "7"), now_s=2)
        read(warehouse, tmp_path, "corrected.csv", line("H100-SXM", "6.5"), now_s=3)
        warehouse.refresh(ZERO_NS + 5 * HOUR_NS)
        rows = warehouse.report("reconciliation").to_pylist()

    assert [(row["file"], row["billed_usd"]) for row in rows] == [("corrected.csv", Decimal("6.5"))]


@pytest.mark.parametrize(
    ("bad", "field", "reason"),
    [
        (line("x", "7", currency="EUR"), "BillingCurrency", "other_currency"),
        (line("x", "seven"), "BilledCost", "not_a_number"),
        (line("x", "NaN"), "BilledCost", "not_finite"),
        (line("x", "7", hours=(2, 2)), "ChargePeriodEnd", "end_before_start"),
        (line("x", "7").replace(at(0), "soon"), "ChargePeriodStart", "bad_time"),
    ],
)
def test_a_line_that_cannot_be_is_refused_with_its_reason(
    tmp_path: Path, bad: str, field: str, reason: str
) -> None:
    """Money that nobody can read is in no figure, and the lines beside it are."""
    DataFolder(tmp_path / "d").make()
    with store(tmp_path / "d", own()) as warehouse:
        read(warehouse, tmp_path, "bill.csv", bad, line("H100-SXM", "7"))
        warehouse.refresh(ZERO_NS + 5 * HOUR_NS)
        refused = warehouse.report("refused").to_pylist()
        rows = warehouse.report("reconciliation").to_pylist()

    assert [(row["field"], row["reason"]) for row in refused] == [(f"line 2: {field}", reason)]
    assert [row["billed_usd"] for row in rows] == [7]
    assert isinstance(rows[0]["from_at"], datetime)
