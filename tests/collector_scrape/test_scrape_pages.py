"""Pages of metrics as requests: real pages, series with times of their own, and pages that are none."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collector.decode.block import decode_block
from collector.decode.testing import OPTIONS, make_record
from collector.scrape.ollama import read_ps
from collector.scrape.page import read_page, to_request
from taximeter.errors import BadInputError

PAGES = Path(__file__).parents[3] / "shared" / "data" / "metrics-endpoints"
NOW_NS = 1_780_000_000_000_000_000
needs_pages = pytest.mark.skipif(not PAGES.exists(), reason="the shared pages are not here")


def rows(text: str, resource: dict[str, str] | None = None) -> dict[str, list[dict[str, Any]]]:
    request = to_request(read_page(text), NOW_NS, resource or {}, {"rack": "r1"})
    tables = decode_block([make_record(request, "metrics")], OPTIONS)
    return {kind: table.to_pylist() for kind, table in tables.items()}


@needs_pages
def test_a_real_page_of_dcgm_gives_the_cards_documented_values() -> None:
    """The T4's page tells util 0, 8.969 W and 128,996.013 J of its first card; the second is another card."""
    told = rows((PAGES / "dcgm_exporter_tesla_t4.metrics").read_text())
    first = [row for row in told["samples"] if row["gpu_uuid"] == "GPU-20c56d28-0da5-6d26-a36a-e7af1ce2586e"]
    found = {row["metric"]: row["value"] for row in first}
    assert found["util_ratio"] == 0
    assert found["power_w"] == pytest.approx(8.969)
    assert found["energy_j"] == pytest.approx(128_996.013)
    assert {(row["source"], row["gpu_name"], row["host"]) for row in first} == {
        ("dcgm", "Tesla T4", "424773df46e0")
    }
    assert len({row["gpu_uuid"] for row in told["samples"]}) == 2
    assert told["refused"] == []


@needs_pages
def test_a_real_page_of_vllm_keeps_names_sums_and_counts() -> None:
    """Counters keep their names, a histogram is its sum and its count."""
    told = rows((PAGES / "vllm_opt125m.cut.metrics").read_text())
    found = {row["metric"]: (row["value"], row["count"]) for row in told["points"]}
    assert found["vllm:prompt_tokens_total"] == (5, None)
    assert found["vllm:generation_tokens_total"] == (7, None)
    assert found["vllm:time_to_first_token_seconds"] == (pytest.approx(0.313267, abs=1e-6), 1)
    assert found["vllm:e2e_request_latency_seconds"] == (pytest.approx(0.503430, abs=1e-6), 1)
    assert found["vllm:num_requests_running"] == (0, None)


def test_a_counter_without_total_keeps_its_name() -> None:
    """What a page calls a counter is not renamed on the way."""
    told = rows("# TYPE jobs counter\njobs 3\n# TYPE done_total counter\ndone_total 4\n")
    assert {row["metric"]: row["value"] for row in told["points"]} == {"jobs": 3, "done_total": 4}


def test_a_series_own_time_counts() -> None:
    """An exporter that tells when it measured is believed, to the millisecond; others are of now."""
    card = '{id="0",vdie_id="d"}'
    text = f"npu_chip_info_utilization{card} 40 1779999999250\nnpu_chip_info_power{card} 9\n"
    told = {row["metric"]: row["t_ns"] for row in rows(text)["samples"]}
    assert told == {"util_ratio": 1_779_999_999_250_000_000, "power_w": NOW_NS}


def test_not_a_number_is_no_point() -> None:
    """NaN, which exporters write for "nothing to tell", is neither a point nor a refusal."""
    told = rows("# TYPE a gauge\na NaN\nb 1\n")
    assert [row["metric"] for row in told["points"]] == ["b"]
    assert told["refused"] == []


def test_labels_of_the_target_and_where_it_runs_go_with_every_series() -> None:
    """Instance and deployment tell equal series of two engines apart."""
    one = rows("a 1\n", {"service.instance.id": "h:1", "taximeter.deployment": "d"})["points"]
    other = rows("a 1\n", {"service.instance.id": "h:2", "taximeter.deployment": "d"})["points"]
    assert '"rack":"r1"' in one[0]["attributes"]
    assert '"taximeter.deployment":"d"' in one[0]["attributes"]
    assert one[0]["stream_hash"] != other[0]["stream_hash"]


@pytest.mark.parametrize("text", ["", "\n# only words\n", "<html>no</html>", 'a{b="c} 1\n', "a one\n", "{}"])
def test_what_is_no_page_is_refused(text: str) -> None:
    """A page that is empty, broken or something else gives no series at all."""
    with pytest.raises(BadInputError):
        read_page(text)


@given(st.text(alphabet=st.sampled_from('ab_:{}="\\, \n#TYPEHLgaucontrs0123456789.eNI+-'), max_size=200))
def test_any_text_is_a_page_or_is_refused(text: str) -> None:
    """Whatever an address answers, reading it ends well or says that it is no page."""
    try:
        page = read_page(text)
    except BadInputError:
        return
    decode_block([make_record(to_request(page, NOW_NS, {}, {}), "metrics")], OPTIONS)


def test_ollama_tells_what_is_loaded_and_nothing_that_it_does_not_know() -> None:
    """Loaded models with their bytes are figures, an empty list is none loaded; requests stay unknown."""
    page = read_ps(
        '{"models": [{"model": "llama3:8b", "size": 6, "size_vram": 5}, {"model": "b", "size": null}]}'
    )
    told = rows_of(page)
    assert told == {
        ("ollama_models_loaded", None): 2,
        ("ollama_model_bytes", "llama3:8b"): 6,
        ("ollama_model_vram_bytes", "llama3:8b"): 5,
    }
    assert rows_of(read_ps('{"models": []}')) == {("ollama_models_loaded", None): 0}


def rows_of(page: Any) -> dict[tuple[str, str | None], float]:
    return {
        (sample.name, sample.labels.get("model_name")): sample.value
        for family in page.families
        for sample in family.samples
    }


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"models": 3}', "not json", "[" * 100_000])
def test_what_is_no_answer_of_ollama_is_refused(text: str) -> None:
    """Another program's answer at the same path is no list of models."""
    with pytest.raises(BadInputError):
        read_ps(text)
