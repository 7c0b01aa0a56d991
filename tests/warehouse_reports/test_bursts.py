"""Peak to mean in windows: recorded arrivals against independent figures, and every measure by hand."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.formats.by_map import reader_by_map
from collector.importing import import_paths
from taximeter.clock import NS_PER_S, SYSTEM_CLOCK, to_datetime
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Gpus, Hold, Settings
from warehouse.testing import store
from warehouse.testing_rows import START_NS, in_trace, llm, spans

SHARED = Path(__file__).parents[2] / "../shared/data"
LATER_NS = START_NS + 86_400 * NS_PER_S
Row = dict[str, Any]


def imported(tmp_path: Path, recording: Path, map_name: str) -> list[Row]:
    if not recording.exists():
        pytest.skip(f"the recording {recording.name} is not here")
    folder = DataFolder(tmp_path / "data").make()
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    reading = reader_by_map("requests", map_name, None)
    import_paths([recording], folder, options, SYSTEM_CLOCK, lambda *_: None, reading=reading)
    with store(folder.root) as warehouse:
        warehouse.load_inbox()
        warehouse.refresh(SYSTEM_CLOCK.now_ns())
        return warehouse.report("bursts").to_pylist()


@pytest.mark.parametrize(
    ("folder", "file", "map_name", "requests"),
    [
        ("azure-llm-inference-2023", "AzureLLMInferenceTrace_code.csv", "azure-llm-inference", 8_819),
        ("mooncake-fast25", "conversation_trace.jsonl", "mooncake", 12_031),
    ],
)
def test_recorded_arrivals_have_the_oracles_bursts(
    tmp_path: Path, folder: str, file: str, map_name: str, requests: int
) -> None:
    """Windows, empty windows, peak, mean and their ratio equal the oracle's, for requests and for tokens."""
    rows = imported(tmp_path, SHARED / folder / file, map_name)
    oracle = json.loads((SHARED / folder / "oracle.json").read_text(encoding="utf-8"))
    found = {(row["measure"], row["window_s"]): row for row in rows}

    assert oracle["requests"] == requests
    for length, wanted in oracle["windows"].items():
        arrivals, tokens = (found[name, int(length[:-1])] for name in ("arrivals", "tokens"))
        assert (arrivals["windows"], arrivals["empty_windows"]) == (
            wanted["windows"],
            wanted["empty_windows"],
        )
        assert (arrivals["peak"], tokens["peak"]) == (wanted["peak_requests"], wanted["peak_tokens"])
        assert arrivals["mean"] == pytest.approx(wanted["mean_requests"], abs=1e-6)
        assert arrivals["peak_to_mean_ratio"] == pytest.approx(wanted["peak_to_mean"], abs=1e-6)
        assert tokens["peak_to_mean_ratio"] == pytest.approx(wanted["peak_to_mean_tokens"], abs=1e-6)
        assert arrivals["asleep_at_peak_ratio"] == pytest.approx(1 - 1 / wanted["peak_to_mean"], abs=1e-6)


@pytest.mark.parametrize("name", ["reason/deepseek-r1", "language/m-small"])
def test_a_rate_series_is_the_sum_over_its_sources(tmp_path: Path, name: str) -> None:
    """All clients give the oracle's peak, mean and ratio in ten minutes; shorter windows say nothing."""
    rows = imported(tmp_path, SHARED / "servegen-client-rates" / name, "servegen")
    oracle = json.loads((SHARED / "servegen-client-rates" / "oracle.json").read_text(encoding="utf-8"))
    wanted = oracle[name]

    (row,) = rows
    assert (row["measure"], row["window_s"], row["windows"]) == ("request_rate", 600, wanted["windows_600s"])
    assert (row["peak"], row["mean"], row["peak_to_mean_ratio"]) == pytest.approx(
        (wanted["peak_rps"], wanted["mean_rps"], wanted["peak_to_mean_600s"])
    )


def test_in_flight_and_busy_cards_are_time_over_the_window(tmp_path: Path) -> None:
    """Two calls on one card: 6 s and 2 s of which 2 s overlap, in windows of 4 s from the first one."""
    held = Hold.model_validate({"from": to_datetime(START_NS), "to": to_datetime(START_NS + 12 * NS_PER_S)})
    gpus = Gpus(sku="CARD", count=1, usd_per_gpu_hour=Decimal(1), held=[held])
    settings = Settings(deployments=[Deployment(name="own", models=["own"], gpus=gpus, concurrency=4)])
    calls = [
        llm("a", 0, 6, tokens=(10, 1), model_requested="own"),
        llm("b", 3, 5, tokens=(20, 2), model_requested="own"),
        llm("late", 9, 9.5, model_requested="own", input_tokens=5),
    ]
    with store(tmp_path / "data", settings) as warehouse:
        for place, call in enumerate(calls):
            warehouse.load(spans(*in_trace(f"{place + 1}" * 32, [call])))
        warehouse.refresh(LATER_NS)
        rows = {row["measure"]: row for row in warehouse.report("bursts", window_s=4).to_pylist()}

    figures = {
        name: (row["windows"], row["empty_windows"], row["mean"], row["peak"]) for name, row in rows.items()
    }
    assert figures == {
        "arrivals": (3, 1, 1, 2),
        "tokens": (3, 2, 11, 33),
        "in_flight": (3, 0, pytest.approx(8.5 / 12), pytest.approx(5 / 4)),
        "busy_gpus": (3, 0, pytest.approx(6.5 / 12), 1),
    }
    assert rows["tokens"]["unknown_events"] == 1


def test_windows_begin_where_the_question_does(tmp_path: Path) -> None:
    """With a range all its windows count, those before the first call and after the last too."""
    with store(tmp_path / "data") as warehouse:
        warehouse.load(spans(*in_trace("1" * 32, [llm("a", 25, 26, tokens=(10, 1))])))
        warehouse.refresh(LATER_NS)
        asked = {"since_ns": START_NS, "until_ns": START_NS + 100 * NS_PER_S}
        rows = warehouse.report(
            "bursts", window_s=10, since=str(asked["since_ns"]), until=str(asked["until_ns"])
        )

    (arrivals,) = (row for row in rows.to_pylist() if row["measure"] == "arrivals")
    assert (arrivals["windows"], arrivals["empty_windows"], arrivals["mean"]) == (10, 9, 0.1)
