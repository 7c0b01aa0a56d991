"""Files that tell no time: saved pages of metrics and `rocm-smi --json`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from collector.decode import DecodeOptions
from collector.formats.summary import FileResult
from collector.importing import import_paths
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder

OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
AT = "2026-11-30T10:00:00Z"


def read(into: Path, path: Path, taken_at: str | None) -> FileResult:
    folder = DataFolder(into).make()
    found = import_paths(
        [path], folder, OPTIONS, ManualClock(1), lambda *_: None, zone="UTC", taken_at=taken_at
    )
    return found.files[0]


@pytest.mark.parametrize(
    ("folder", "name", "kind", "samples"),
    [
        ("metrics-endpoints", "dcgm_exporter_tesla_t4.metrics", "prometheus-page", 8),
        ("metrics-endpoints", "vllm_opt125m.cut.metrics", "prometheus-page", 0),
        ("nvidia-smi-captures", "nvidia_gpu_exporter__demo_seeded.metrics", "prometheus-page", 20),
        ("telegraf-gpu-samples/amd_rocm_smi_json", "mi100_rocm602.json", "rocm-smi-json", 24),
        ("telegraf-gpu-samples/amd_rocm_smi_json", "rx6700xt_rocm430.json", "rocm-smi-json", 6),
        ("telegraf-gpu-samples/nvidia_smi_xml", "gtx-1070-ti.xml", "nvidia-smi-xml", 4),
    ],
)
def test_a_file_without_a_time_goes_in_when_somebody_says_it(
    tmp_path: Path, recorded: Callable[[str], Path], folder: str, name: str, kind: str, samples: int
) -> None:
    """With the time at which it was taken its samples go in, every one at that instant."""
    path = recorded(folder) / name
    result = read(tmp_path, path, AT)
    assert (result.format, result.outcome) == (kind, "read")
    assert result.rows["samples"] == samples
    assert sum(result.refused.values()) == 0


@pytest.mark.parametrize("name", ["dcgm.metrics", "rocm.json"])
def test_without_a_time_nothing_goes_in_and_the_reason_says_what_to_do(tmp_path: Path, name: str) -> None:
    """No instant is made up: the file is broken until somebody says when it was taken."""
    texts = {
        "dcgm.metrics": '# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{UUID="GPU-1"} 4\n',
        "rocm.json": '{"card0": {"GPU use (%)": "3", "Unique ID": "0x1"}}',
    }
    file = tmp_path / name
    file.write_text(texts[name])
    result = read(tmp_path / "d", file, None)
    assert (result.outcome, result.rows["samples"]) == ("broken", 0)
    assert "--at" in " ".join(result.reasons)


def test_one_file_taken_at_two_times_is_two_files(tmp_path: Path) -> None:
    """The same page said to be of another instant does not replace the first."""
    file = tmp_path / "a.metrics"
    file.write_text('# TYPE DCGM_FI_DEV_GPU_UTIL gauge\nDCGM_FI_DEV_GPU_UTIL{UUID="GPU-1"} 4\n')
    for taken_at in (AT, AT, "2026-11-30T11:00:00Z"):
        read(tmp_path / "d", file, taken_at)
    assert len(list(DataFolder(tmp_path / "d").inbox.iterdir())) == 2
