"""Captures of `nvidia-smi` text, whole files as they were collected, against values read independently."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.formats.gpu_smi_text import read_smi_text
from collector.importing import import_paths
from taximeter.clock import ManualClock
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder

CAPTURES = Path(__file__).parents[3] / "shared" / "data" / "nvidia-smi-captures"
ORACLE: list[dict[str, Any]] = json.loads((CAPTURES / "oracle.json").read_text()) if CAPTURES.exists() else []
FIELDS = {
    "util_gpu": ("util_ratio", "%", 0.01),
    "util_mem": ("memory_util_ratio", "%", 0.01),
    "mem_used": ("memory_used_mib", "MiB", 1),
    "mem_total": ("memory_total_mib", "MiB", 1),
    "power": ("power_w", "W", 1),
}
LOG = """
==============NVSMI LOG==============

Timestamp                                 : Tue Jul 14 08:12:38 2026
Attached GPUs                             : 2
GPU 00000000:00:09.0
    Product Name                          : NVIDIA A100
    GPU UUID                              : GPU-1
    FB Memory Usage
        Total                             : 40960 MiB
        Used                              : N/A
    BAR1 Memory Usage
        Used                              : 7 MiB
    Utilization
        GPU                               : N/A
        Memory                            : 3 %
    GPU Power Readings
        Average Power Draw                : N/A
        Instantaneous Power Draw          : 52.25 W
    Processes
        Process ID                        : 11
            Used GPU Memory               : 90 MiB
        Process ID                        : 12
            Used GPU Memory               : Not available in WDDM driver model
GPU 00000000:00:0A.0
    GPU UUID                              : GPU-1
    Utilization
        Gpu                               : 0 %
"""


def read(text: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    samples, refused = [], []
    for tables in read_smi_text(io.BytesIO(text.encode()), "UTC", "f"):
        samples += tables["samples"].to_pylist()
        refused += tables["refused"].to_pylist()
    return samples, refused


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
@pytest.mark.parametrize("name", sorted({said["file"] for said in ORACLE}))
def test_every_capture_gives_the_values_of_its_query_tables(name: str) -> None:
    """The idle and the load table of a file each give the oracle's values in our units, refusing nothing."""
    with (CAPTURES / name).open("rb") as file:
        parts = list(read_smi_text(file, "UTC", name))
    told: dict[int, dict[str, float]] = {}
    for row in (row for part in parts for row in part["samples"].to_pylist() if row["pid"] is None):
        if row["t_ns"] % 10**9:  # a table tells milliseconds, a log whole seconds
            told.setdefault(row["t_ns"], {})[row["metric"]] = row["value"]
    expected = [said for said in ORACLE if said["file"] == name]
    assert len(told) == len(expected) == 2
    for said, (_, found) in zip(expected, sorted(told.items()), strict=True):
        for field, (metric, unit, factor) in FIELDS.items():
            assert found[metric] == pytest.approx(float(said[field].removesuffix(unit)) * factor), field
    assert sum(part["refused"].num_rows for part in parts) == 0


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
@pytest.mark.parametrize("name", sorted({said["file"] for said in ORACLE}))
def test_the_log_of_a_capture_agrees_with_its_table(name: str) -> None:
    """Total memory, card and name are the same in `-q` and in the query table of one capture."""
    with (CAPTURES / name).open("rb") as file:
        rows = [row for part in read_smi_text(file, "UTC", name) for row in part["samples"].to_pylist()]
    of_log = [row for row in rows if row["t_ns"] % 10**9 == 0 and row["metric"] == "memory_total_mib"]
    of_table = [row for row in rows if row["t_ns"] % 10**9 and row["metric"] == "memory_total_mib"]
    keys = ("gpu_uuid", "bus_id", "gpu_name", "value")
    assert len(of_log) == len(of_table) == 2
    assert [[row[key] for key in keys] for row in of_log] == [[row[key] for key in keys] for row in of_table]


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
def test_the_load_of_the_h100_names_its_processes() -> None:
    """Log and table of the loaded H100 tell the same three processes with the memory each holds."""
    name = "linux-x86_64__nvidia-h100-80gb-hbm3__590.48.01.txt"
    with (CAPTURES / name).open("rb") as file:
        rows = [row for part in read_smi_text(file, "UTC", name) for row in part["samples"].to_pylist()]
    held = [(row["pid"], row["value"]) for row in rows if row["metric"] == "process_memory_mib"]
    assert held == [(11327, 2566.0), (11328, 1542.0), (11345, 15690.0)] * 2


def test_a_log_gives_each_card_what_it_tells() -> None:
    """N/A is no sample, BAR1 memory is not the card's, and a masked UUID does not make two cards one."""
    samples, refused = read(LOG)
    found = {(row["bus_id"], row["metric"], row["pid"]): row["value"] for row in samples}
    assert found == {
        ("00000000:00:09.0", "memory_total_mib", None): 40960,
        ("00000000:00:09.0", "memory_util_ratio", None): pytest.approx(0.03),
        ("00000000:00:09.0", "power_w", None): 52.25,
        ("00000000:00:09.0", "process_memory_mib", 11): 90,
        ("00000000:00:0A.0", "util_ratio", None): 0,
    }
    assert {row["t_ns"] for row in samples} == {1_784_016_758 * 10**9}
    assert refused == []


def test_a_time_without_a_zone_names_no_instant() -> None:
    """Where no zone is known the figures are refused, not laid on UTC."""
    tables = list(read_smi_text(io.BytesIO(LOG.encode()), None, "f"))
    assert sum(part["samples"].num_rows for part in tables) == 0
    assert {row["reason"] for part in tables for row in part["refused"].to_pylist()} == {"bad_time"}


def test_text_with_neither_is_refused() -> None:
    """A capture of help texts alone says that there are no figures in it."""
    with pytest.raises(BadInputError, match="neither"):
        read("# $ nvidia-smi -h\nNVIDIA System Management Interface\n")


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
def test_a_folder_of_captures_is_imported_as_it_lies(tmp_path: Path) -> None:
    """Every capture in the folder is recognised by its content and read to its end."""
    folder = DataFolder(tmp_path).make()
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    found = import_paths([CAPTURES], folder, options, ManualClock(1), lambda *_: None, zone="UTC")
    results = {result.path.name: result for result in found.files if "__" in result.path.name}
    texts = {name: result for name, result in results.items() if name.endswith(".txt")}
    assert len(texts) == 6
    assert {(result.format, result.outcome) for result in texts.values()} == {("nvidia-smi-text", "read")}
