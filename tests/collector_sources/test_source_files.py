"""Other exporters' GPU metrics: names, units and labels become canonical samples, or stay what they were."""

from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode.metrics import read_metrics
from collector.decode.testing import START_NS, make_record, pairs
from collector.sources.read import Meaning, built_in, load

DOCS = Path(__file__).parents[2] / "docs" / "gpu-sources.md"
CARD = {"gpu": "0", "UUID": "GPU-1", "modelName": "Tesla T4", "Hostname": "n1"}
SLICE = {**CARD, "GPU_I_ID": "3", "GPU_I_PROFILE": "2g.20gb"}


def _read(
    name: str, value: float, labels: dict[str, str], sources: dict[str, Meaning] | None = None
) -> dict[str, list[dict[str, Any]]]:
    request = ExportMetricsServiceRequest()
    metric = request.resource_metrics.add().scope_metrics.add().metrics.add(name=name)
    metric.gauge.data_points.add(time_unix_nano=START_NS, as_double=value, attributes=pairs(labels))
    record = make_record(request.SerializeToString(), "metrics")
    tables = read_metrics([record], built_in() if sources is None else sources)
    return {kind: table.to_pylist() for kind, table in tables.items()}


@pytest.mark.parametrize(
    ("name", "sent", "labels", "metric", "value", "source"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", 37, CARD, "util_ratio", 0.37, "dcgm"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 128996013, CARD, "energy_j", 128996.013, "dcgm"),
        ("DCGM_FI_DEV_POWER_USAGE", 8.969, CARD, "power_w", 8.969, "dcgm"),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 0.5, SLICE, "util_ratio", 0.5, "dcgm"),
        ("gpu_utilization", 40, {"index": "0", "uuid": "GPU-1"}, "util_ratio", 0.4, "nvitop"),
        ("AMD_GPU_GFX_ACTIVITY", 12, {"gpu_id": "1"}, "util_ratio", 0.12, "amd"),
        ("npu_chip_info_hbm_used_memory", 512, {"id": "0"}, "memory_used_mib", 512, "ascend"),
        ("habanalabs_power_mW", 90000, {"uuid": "g"}, "power_w", 90, "gaudi"),
        ("hw.gpu.utilization", 0.25, {"hw.id": "g"}, "util_ratio", 0.25, "otel_hw"),
        ("hw.power", 70, {"hw.id": "g", "hw.type": "gpu"}, "power_w", 70, "otel_hw"),
        ("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION_total", 5000, CARD, "energy_j", 5, "dcgm"),
        ("xpum_engine_group_ratio", 0.6, {"uuid": "x", "type": "compute"}, "util_ratio", 0.6, "xpum"),
        ("xpum_power_watts", 300, {"uuid": "x", "pci_bdf": "0000:4d:00.0"}, "power_w", 300, "xpum"),
        ("nvidia_smi_memory_used_bytes", 1048576, {"uuid": "u"}, "memory_used_mib", 1, "nvidia_smi"),
    ],
)
def test_each_source_is_read_in_our_units(
    name: str, sent: float, labels: dict[str, str], metric: str, value: float, source: str
) -> None:
    """A raw name becomes its canonical metric, in our unit, with the file that read it as the source."""
    (row,) = _read(name, sent, labels)["samples"]
    assert (row["metric"], row["source"]) == (metric, source)
    assert row["value"] == pytest.approx(value)


@pytest.mark.parametrize(
    ("name", "labels"),
    [
        ("DCGM_FI_DEV_GPU_UTIL", SLICE),
        ("DCGM_FI_DEV_POWER_USAGE", SLICE),
        ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", CARD),
        ("hw.gpu.utilization", {"hw.id": "g", "hw.gpu.task": "encoder"}),
        ("hw.power", {"hw.id": "c", "hw.type": "cpu"}),
        ("DCGM_FI_DEV_GPU_UTIL_BY_REASON", CARD),
        ("xpum_engine_group_ratio", {"uuid": "x", "type": "compute", "sub_dev": "1"}),
        ("xpum_engine_group_ratio", {"uuid": "x", "type": "media"}),
        ("xpum_power_watts", {"uuid": "x", "card": "1"}),
    ],
)
def test_what_does_not_speak_of_the_card_is_no_sample(name: str, labels: dict[str, str]) -> None:
    """A slice's copy of the card, another task, another device and a longer name stay points."""
    tables = _read(name, 0.0, labels)
    assert (tables["samples"], len(tables["points"])) == ([], 1)


def test_a_word_for_no_value_is_no_sample() -> None:
    """The number that dcgm-exporter writes for "blank" is neither a figure nor a refusal."""
    tables = _read("DCGM_FI_DEV_FB_USED", 2147483632, CARD)
    assert (tables["samples"], tables["refused"]) == ([], [])


def test_a_refused_figure_is_shown_as_sent() -> None:
    """A utilization of 240 percent is refused, and shown in the source's own unit."""
    (row,) = _read("DCGM_FI_DEV_GPU_UTIL", 240, CARD)["refused"]
    assert (row["reason"], row["value"]) == ("too_large", "240.0")


def test_labels_name_card_slice_and_workload() -> None:
    """Labels in any case name the host, the card of a slice, its share, and the pod that holds it."""
    labels = {**SLICE, "namespace": "ml", "pod": "p", "container": "c"}
    (row,) = _read("DCGM_FI_DEV_FB_USED", 5, labels)["samples"]
    assert (row["host"], row["gpu_uuid"], row["parent_uuid"], row["slices"], row["workload"]) == (
        "n1",
        "GPU-1/gi-3",
        "GPU-1",
        2,
        "ml/p/c",
    )


def test_a_made_up_vendor_needs_one_file(tmp_path: Path) -> None:
    """The documented file, as it stands, teaches a new card."""
    own = tmp_path / "acme.toml"
    own.write_text(DOCS.read_text().partition("```toml\n")[2].partition("```")[0])
    (row,) = _read("acme_busy", 250, {"serial": "A7"}, load([own]))["samples"]
    assert (row["gpu_uuid"], row["metric"], row["value"], row["source"]) == ("A7", "util_ratio", 0.25, "acme")


def test_a_file_with_an_unknown_metric_is_refused(tmp_path: Path) -> None:
    """A misspelt canonical metric stops the load, named."""
    own = tmp_path / "acme.toml"
    own.write_text('[labels]\n[metrics]\nacme_busy = { metric = "util", factor = 1 }\n')
    with pytest.raises(ValueError, match=r"acme\.toml has unknown metrics: util"):
        load([own])


def test_without_sources_foreign_names_stay_points() -> None:
    """Unless sources are handed in nothing foreign reaches the ledger."""
    assert _read("DCGM_FI_DEV_GPU_UTIL", 1, CARD, {})["samples"] == []


def test_cards_known_by_their_number_alone_are_as_many_as_their_numbers() -> None:
    """A source that names neither uuid nor bus id does not make one card of all of a host's."""
    names = {_read("gpu_gfx_activity", 1, {"gpu_id": str(n)})["samples"][0]["gpu_uuid"] for n in range(3)}
    assert names == {"index-0", "index-1", "index-2"}
