"""The commands about prices, as a person types them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from taximeter.cli import app
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder
from warehouse.testing import write_block
from warehouse.testing_rows import llm, spans

Type = Callable[..., Any]


@pytest.fixture(name="type_in")
def _type_in(tmp_path: Path) -> Type:
    config = tmp_path / "taximeter.yaml"
    config.write_text("prices: {file: prices.yaml}\ndata: data\n", encoding="utf-8")
    (tmp_path / "prices.yaml").write_text("# mine\n", encoding="utf-8")

    def run(*words: str) -> Any:
        return CliRunner().invoke(app, [*words, "--config", str(config)])

    return run


def test_an_added_price_is_listed_with_what_it_replaces(type_in: Type) -> None:
    """The list shows the catalogue's row up to the day of the user's own, then that one, with its source."""
    type_in(
        "prices",
        "add",
        "gpt-4o",
        "--input",
        "1.5",
        "--output",
        "6",
        "--from",
        "2026-11-01",
        "--source",
        "deal",
    )

    rows = json.loads(type_in("prices", "list", "gpt-4o", "-f", "json").stdout)

    ordinary = [row for row in rows if row["holds_for"] is None]
    assert [(row["input_usd_per_mtok"], row["price_source"][:12], row["until_at"]) for row in ordinary] == [
        (2.5, "genai-prices", "2026-11-01T00:00:00Z"),
        (1.5, "deal", None),
    ]


def test_a_tier_is_listed_at_its_published_share_and_the_users_row_wins(type_in: Type) -> None:
    """Batch costs half where nobody says more; a row of the user's for a tier holds for that tier alone."""
    type_in(
        *("prices", "add", "gpt-4o", "--service-tier", "priority", "--input", "4.25", "--output", "17"),
        *("--from", "2026-11-01", "--source", "deal"),
    )

    rows = json.loads(type_in("prices", "list", "gpt-4o", "-f", "json").stdout)

    assert {row["holds_for"]: row["input_usd_per_mtok"] for row in rows} == {
        None: 2.5,
        "service tier batch": 1.25,
        "service tier flex": 1.25,
        "service tier priority": 4.25,
    }


def test_a_card_is_listed_with_those_it_is_compared_with(type_in: Type) -> None:
    """A SKU shows the row in force and beside it the rows that price nothing."""
    type_in("prices", "add", "B200", "--gpu-hour", "6", "--discount", "0.1", "--from", "2026-11-01")

    rows = json.loads(type_in("prices", "list", "b200", "-f", "json").stdout)

    assert [row["usd_per_gpu_hour"] for row in rows if row["prices_something"]] == [6.79, 5.4]
    assert {row["provider"] for row in rows if not row["prices_something"]} == {"Lambda", "Akash"}


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("m", "--input", "1", "--output", "2"), "--from"),
        (("m", "--from", "2026-11-01"), "either"),
        (("m", "--from", "2026-11-01", "--input", "1", "--gpu-hour", "2"), "either"),
        (("m", "--from", "2026-11-01", "--kind", "spot"), "--gpu-hour"),
    ],
)
def test_an_unfinished_price_is_refused(type_in: Type, words: tuple[str, ...], told: str) -> None:
    """A price without a date, or of neither tokens nor a card, is told what it lacks."""
    result = type_in("prices", "add", *words)

    assert isinstance(result.exception, BadInputError)
    assert told in str(result.exception)


def test_a_used_model_without_a_price_fails_the_check_until_it_has_one(type_in: Type, tmp_path: Path) -> None:
    """The check names the model with its steps and tokens; once there is a row for it, it passes."""
    folder = DataFolder(tmp_path / "data").make()
    write_block(folder, "test", 0, spans(llm("a", 1, 2, tokens=(1_000, 100), model_requested="mystery")))

    before = type_in("prices", "check")
    type_in("prices", "add", "mystery", "--input", "1", "--output", "2", "--from", "2026-01-01")
    after = type_in("prices", "check")

    assert before.exit_code == 1
    assert "no price: mystery: 1 steps, 1,100 tokens" in before.stdout
    assert (after.exit_code, "mystery" in after.stdout.replace("old price: mystery", "")) == (0, False)
