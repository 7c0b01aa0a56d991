"""Captures of `rocm-smi --json` against values read independently."""

import json
from pathlib import Path
from typing import Any

import pytest

from collector.formats.gpu_rocm_json import read_rocm_json

SAMPLES = Path(__file__).parents[3] / "shared" / "data" / "telegraf-gpu-samples"
ORACLE: list[dict[str, Any]] = (
    json.loads((SAMPLES / "oracle.json").read_text())["amd_rocm_smi_json"] if SAMPLES.exists() else []
)
FIELDS = {
    "gpu_use_pct": ("util_ratio", 0.01),
    "mem_use_pct": ("memory_util_ratio", 0.01),
    "vram_total": ("memory_total_mib", 2**-20),
    "vram_used": ("memory_used_mib", 2**-20),
    "power": ("power_w", 1),
}


@pytest.mark.skipif(not ORACLE, reason="the shared captures are not here")
@pytest.mark.parametrize("said", ORACLE, ids=lambda said: f"{said['file']}-{said['card']}")
def test_every_card_gives_its_values_and_no_others(said: dict[str, Any]) -> None:
    """Each field has the oracle's value in our unit; absent and N/A are neither a sample nor a refusal."""
    text = (SAMPLES / "amd_rocm_smi_json" / said["file"]).read_bytes()
    tables = read_rocm_json(text, "UTC", said["file"], "2026-01-01 00:00:00")
    rows = [row for row in tables["samples"].to_pylist() if f"card{row['gpu_index']}" == said["card"]]
    found = {row["metric"]: row["value"] for row in rows}
    for field, (metric, factor) in FIELDS.items():
        if said[field] is None or said[field].startswith("N/A"):
            assert metric not in found
        else:
            assert found[metric] == pytest.approx(float(said[field]) * factor)
    assert tables["refused"].num_rows == 0
