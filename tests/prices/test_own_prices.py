"""The user's own price file: it wins from its first day on, and bad rows are told, not guessed."""

from decimal import Decimal
from pathlib import Path

import pytest

from taximeter.errors import SettingsError
from warehouse.prices import gpu_list, user_file
from warehouse.prices.compose import compose
from warehouse.prices.rows import TokenPrice

DAY_NS = 86_400 * 1_000_000_000


def listed(from_day: int, to_day: int | None, usd: str) -> TokenPrice:
    """Make a list row that holds from one day to another."""
    return TokenPrice(
        from_day * DAY_NS, None if to_day is None else to_day * DAY_NS, None, None, 0, None,
        Decimal(usd), None, None, None, Decimal(usd), "list", False,
    )  # fmt: skip


def write(folder: Path, text: str) -> Path:
    file = folder / "prices.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_own_rows_hold_from_their_day_and_the_list_before(tmp_path: Path) -> None:
    """Before the first own row the list price holds, after it only own rows, each until the next."""
    own = user_file.read(
        write(
            tmp_path,
            "tokens:\n"
            "- {model: 'my-*', from: 1970-01-11, input_usd_per_mtok: 2, output_usd_per_mtok: 4}\n"
            "- {model: 'my-*', from: 1970-01-21, input_usd_per_mtok: 1, output_usd_per_mtok: 2}\n",
        )
    ).for_model((), "My-Model")

    rows = compose([listed(0, 5, "9"), listed(5, None, "8")], own)

    assert [(row.from_ns // DAY_NS, row.to_ns and row.to_ns // DAY_NS, row.is_user_row) for row in rows] == [
        (0, 5, False),
        (5, 10, False),
        (10, 20, True),
        (20, None, True),
    ]


def test_an_own_row_for_another_provider_is_not_ours(tmp_path: Path) -> None:
    """A row that names a provider prices only spans of that provider."""
    row = "{model: m, provider: a, from: 2026-11-01, input_usd_per_mtok: 2, output_usd_per_mtok: 4}"
    prices = user_file.read(write(tmp_path, f"tokens:\n- {row}\n"))

    assert prices.for_model({"b"}, "m") == []
    assert len(prices.for_model({"a"}, "m")) == 1


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("{model: m, input_usd_per_mtok: 2, output_usd_per_mtok: 4}", "no from"),
        ("{model: m, from: 2026-11-01, input_usd_per_mtok: -2, output_usd_per_mtok: 4}", "not a price"),
        ("{model: m, from: 2026-11-01, input_usd_per_mtok: x, output_usd_per_mtok: 4}", "not a price"),
        ("{model: m, from: soon, input_usd_per_mtok: 1, output_usd_per_mtok: 4}", "not a date"),
        ("{model: m, from: 2026-11-01, input: 1, output_usd_per_mtok: 4}", "unknown key input"),
    ],
)
def test_a_bad_row_is_told_with_its_reason(tmp_path: Path, row: str, told: str) -> None:
    """An undated row, a price that is none, and a key nobody knows are refused in one line."""
    with pytest.raises(SettingsError, match=told):
        user_file.read(write(tmp_path, f"tokens:\n- {row}\n"))


def test_every_gpu_price_has_one_default_and_a_dated_source() -> None:
    """Each SKU of the list has exactly one default row, and each source names the day it was read."""
    rows = gpu_list.read()
    defaults = [row.sku for row in rows if row.is_default]

    assert sorted(defaults) == sorted({row.sku for row in rows})
    assert all("2026-" in row.source for row in rows)
    assert all(row.usd_per_gpu_hour > 0 for row in rows)


BASE = "model: m, from: 2026-11-01, input_usd_per_mtok: 2, output_usd_per_mtok: 4"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([BASE, BASE], "never overwritten"),
        (
            [BASE, f"{BASE}, prompt_from_tokens: 200001", f"{BASE}, day_from: '16:30', day_to: '00:30'"],
            "each part",
        ),
        (
            [f"{BASE}, day_from: '16:30', day_to: '00:30'", f"{BASE}, day_from: '00:00', day_to: '08:00'"],
            "overlap",
        ),
        ([f"{BASE}, day_from: '16:30'"], "come together"),
        ([f"{BASE}, day_from: '16:75', day_to: '20:00'"], "no time of the day"),
        ([f"{BASE}, prompt_from_tokens: 9, prompt_to_tokens: 9"], "no range"),
    ],
)
def test_rows_that_contradict_each_other_are_told(tmp_path: Path, rows: list[str], told: str) -> None:
    """Rows of one model and date may cut the prompt and the day, and price every part once."""
    with pytest.raises(SettingsError, match=told):
        user_file.read(write(tmp_path, "tokens:\n" + "".join(f"- {{{row}}}\n" for row in rows)))


@pytest.mark.parametrize(
    ("day", "seconds"),
    [("'16:30', day_to: '00:30'", (59_400, 1_800)), ("16:30, day_to: 24:00", (59_400, 86_400))],
)
def test_a_part_of_the_day_is_read_with_and_without_quotes(
    tmp_path: Path, day: str, seconds: tuple[int, int]
) -> None:
    """Times of the day are UTC, and a part may run over midnight."""
    (row,) = user_file.read(write(tmp_path, f"tokens:\n- {{{BASE}, day_from: {day}}}\n")).tokens

    assert (row.price.day_from_s, row.price.day_to_s) == seconds


def test_a_row_with_a_plain_name_prices_every_spelling(tmp_path: Path) -> None:
    """Prefixes, dates behind an at sign, marks and case of a span's model need not be in the row."""
    prices = user_file.read(write(tmp_path, f"tokens:\n- {{{BASE}}}\n"))

    names = ("M", "openai/m", "m@20251001", "m[1m]", "m-mini")
    assert [len(prices.for_model((), name)) for name in names] == [1, 1, 1, 1, 0]


def test_two_rows_do_not_price_one_card(tmp_path: Path) -> None:
    """Of two rows for one SKU and date one must say that it prices no card."""
    row = "- {sku: A, from: 2026-11-01, usd_per_gpu_hour: 1"
    rows = f"gpus:\n{row}}}\n{row}"
    with pytest.raises(SettingsError, match="two rows price A"):
        user_file.read(write(tmp_path, rows + "}\n"))

    assert len(user_file.read(write(tmp_path, rows + ", default: false}\n")).gpus) == 2
