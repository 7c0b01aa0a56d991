"""GPU figures in somebody's own table, read by the map they wrote."""

import json
from pathlib import Path

import pytest

from collector.formats.gpu_map import read_gpu_series
from taximeter.errors import BadInputError

TRACE = Path(__file__).parents[3] / "shared" / "data" / "alibaba-gentd26-gpu-serving"
MAP = """
columns: {time: timestamp_anon, gpu_uuid: container_ip}
metrics: {value: {metric: util_ratio, factor: 0.01}}
"""


def _map(tmp_path: Path, text: str = MAP) -> Path:
    path = tmp_path / "map.yaml"
    path.write_text(text)
    return path


@pytest.mark.skipif(not TRACE.exists(), reason="the shared recordings are not here")
def test_a_serving_fleet_gives_its_independent_figures(tmp_path: Path) -> None:
    """Samples, mean, share at zero and idle GPU-hours (57 s a sample) are those worked out elsewhere."""
    oracle = json.loads((TRACE / "oracle.json").read_text())["gpu_duty"]
    file = TRACE / "pod_gpu_duty_cycle_anon.csv.gz"
    tables = list(read_gpu_series(file, _map(tmp_path), None))
    assert sum(table["refused"].num_rows for table in tables) == 0
    told = [float(value) for table in tables for value in table["samples"]["value"].to_pylist()]
    hours = 57 / 3600
    assert len(told) == oracle["samples"]
    assert sum(told) / len(told) == pytest.approx(oracle["mean_util_pct"] / 100)
    assert told.count(0) / len(told) == pytest.approx(oracle["share_zero"])
    assert told.count(0) * hours == pytest.approx(888.63)
    assert sum(value < 0.05 for value in told) * hours == pytest.approx(1013.62, abs=0.01)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns: {time: t, gpu_uuid: g}\nmetrics: {value: {metric: util, factor: 1}}", "unknown metrics"),
        ("columns: {when: t}\nmetrics: {}", "unknown columns"),
        ("columns: {time: t}\nmetrics: {value: {metric: up, factor: 1}}", "must name"),
        ("columns: {time: t, gpu_uuid: g}\nmetrics: {value: {metric: up}}", "needs a metric and a factor"),
        ("columns: {time: nope, gpu_uuid: g}\nmetrics: {value: {metric: up, factor: 1}}", "lacks columns"),
    ],
)
def test_a_map_that_cannot_be_followed_is_refused(tmp_path: Path, text: str, said: str) -> None:
    """A wrong name in the map stops the import and is named; nothing is guessed."""
    file = tmp_path / "series.csv"
    file.write_text("t,g,value\n1700000000,a,1\n")
    with pytest.raises(BadInputError, match=said):
        list(read_gpu_series(file, _map(tmp_path, text), None))
