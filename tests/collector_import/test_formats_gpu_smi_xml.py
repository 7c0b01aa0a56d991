"""Captures of `nvidia-smi -q -x` that users attached to issues, against values read independently."""

import json
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.formats.gpu_smi_xml import read_smi_xml
from collector.importing import import_paths
from taximeter.clock import ManualClock
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "telegraf-gpu-samples"
ORACLE: list[dict[str, Any]] = (
    json.loads((SAMPLES / "oracle.json").read_text())["nvidia_smi_xml"] if SAMPLES.exists() else []
)
FIELDS = {
    "util_gpu": ("util_ratio", "%", 0.01),
    "util_mem": ("memory_util_ratio", "%", 0.01),
    "fb_used": ("memory_used_mib", "MiB", 1),
    "fb_total": ("memory_total_mib", "MiB", 1),
    "power": ("power_w", "W", 1),
}


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
@pytest.mark.parametrize("said", ORACLE, ids=lambda said: str(said["file"]))
def test_every_capture_gives_its_values_and_no_others(said: dict[str, Any]) -> None:
    """Each field has the oracle's value in our unit; N/A is neither a sample nor a refusal."""
    text = (SAMPLES / "nvidia_smi_xml" / said["file"]).read_bytes()
    tables = read_smi_xml(text, "UTC", said["file"], "2026-01-01 00:00:00")
    rows = [row for row in tables["samples"].to_pylist() if row["pid"] is None]
    found = {row["metric"]: row["value"] for row in rows}
    for field, (metric, unit, factor) in FIELDS.items():
        if said[field] == "N/A":
            assert metric not in found
        else:
            assert found[metric] == pytest.approx(float(said[field].removesuffix(unit)) * factor)
    assert {(row["gpu_uuid"], row["gpu_name"]) for row in rows} == {(said["uuid"], said["name"])}
    assert tables["refused"].num_rows == 0


def test_a_document_without_a_time_gives_no_sample() -> None:
    """Where nothing tells the instant the figures are refused, not laid on some time."""
    text = b"<nvidia_smi_log><gpu id='1'><uuid>g</uuid><power_readings><power_draw>7 W</power_draw>"
    tables = read_smi_xml(text + b"</power_readings></gpu></nvidia_smi_log>", "UTC", "f")
    assert (tables["samples"].num_rows, tables["refused"].num_rows) == (0, 1)


def test_an_entity_is_refused() -> None:
    """A document that declares an entity is not read at all."""
    text = b'<!DOCTYPE a [<!ENTITY b "c">]><nvidia_smi_log>&b;</nvidia_smi_log>'
    with pytest.raises(BadInputError, match="declares entities"):
        read_smi_xml(text, "UTC", "f")


def test_a_cut_document_is_refused() -> None:
    """Half a document gives no figures."""
    with pytest.raises(BadInputError, match="broken XML"):
        read_smi_xml(b"<nvidia_smi_log><gpu id='1'>", "UTC", "f")


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
def test_captures_are_imported_as_they_lie(tmp_path: Path) -> None:
    """A folder of captures goes in: every card with a time has samples, the one without tells why not."""
    folder = DataFolder(tmp_path).make()
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    captures = SAMPLES / "nvidia_smi_xml"
    found = import_paths([captures], folder, options, ManualClock(1), lambda *_: None, zone="UTC")

    results = {result.path.name: result for result in found.files}
    assert {result.format for result in results.values()} == {"nvidia-smi-xml"}
    assert [name for name, result in results.items() if not result.rows["samples"]] == ["gtx-1070-ti.xml"]
    assert set(results["gtx-1070-ti.xml"].refused) == {"bad_time"}
