"""The figures of docs/planner.md: what it answers follows from its table, and its table from the data."""

from pathlib import Path

import pytest

from benchmarks import _planner_judge as judging

REPOSITORY = Path(__file__).parents[2]
AZURE = REPOSITORY / "../shared/data/azure-llm-inference-2023"


def judged() -> tuple[str, list[list[str]]]:
    page = (REPOSITORY / "docs/planner.md").read_text(encoding="utf-8")
    section = page.partition("<!-- judged -->\n")[2].partition("<!-- /judged -->")[0]
    told, _, table = section.partition("\n| ")
    rows = [line.strip("| ").split(" | ") for line in ("| " + table).splitlines()[2:]]
    return told, rows


def seconds(text: str) -> float | None:
    return None if text == "unknown" else float(text.removesuffix(" s").replace(",", ""))


def ratio(text: str) -> float:
    return float(text.removesuffix("%")) / 100


def read(cells: list[str]) -> judging.Row:
    load, fixed, busy, policy, cold, by_second, by_hour, starts, slo, p95, p99, task, keeps = cells
    row = judging.Row(
        load,
        int(fixed),
        ratio(busy),
        policy,
        seconds(cold) or 0.0,
        ratio(by_second),
        ratio(by_hour),
        int(starts.replace(",", "")),
        ratio(slo),
        seconds(p95),
        seconds(p99),
        seconds(task),
    )
    assert row.keeps_slo == (keeps == "yes")
    return row


def test_the_answer_follows_from_the_table() -> None:
    """What the page says of the claim is what its own rows give."""
    told, rows = judged()

    assert told.strip() == judging.answer([read(cells) for cells in rows]).strip()
    assert len({cells[0] for cells in rows}) == 7


@pytest.mark.skipif(not AZURE.exists(), reason="the shared arrivals are not here")
def test_the_rows_of_the_coding_hour_are_computed_again() -> None:
    """The rows of one load with a hot wake are those that a replay gives today."""
    _, rows = judged()
    load = judging.azure()

    again = [list(judging.cells(row)) for row in judging.judge(load, (4.0,))]
    assert again == [cells for cells in rows if cells[0] == load.name and cells[4] == "4 s"]
    assert len(again) == 3
