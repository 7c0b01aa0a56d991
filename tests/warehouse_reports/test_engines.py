"""What serving engines tell of themselves: figures, their age, and what they should tell and do not."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taximeter.clock import NS_PER_S
from taximeter.settings import Deployment, Settings
from warehouse.engine_signals import KINDS, rows
from warehouse.rows import POINTS
from warehouse.testing import store
from warehouse.testing_rows import START_NS

Point = dict[str, Any]


def point(
    metric: str,
    at_s: float,
    value: float | None,
    count: int | None = None,
    instance: str = "h:8000",
    **labels: str,
) -> Point:
    """Make a point of one engine's series `at_s` seconds after the start."""
    attributes = {"service.instance.id": instance, **labels}
    return {
        "metric": metric,
        "t_ns": START_NS + round(at_s * NS_PER_S),
        "value": value,
        "count": count,
        "attributes": json.dumps(attributes),
        "stream_hash": f"{metric}{sorted(attributes.items())}",
        "simulated": False,
    }


def look(path: Path, points: list[Point], settings: Settings | None = None, **asked: Any) -> dict[str, Any]:
    """Give the rows of the report by signal; several engines give one more key."""
    filled = [dict.fromkeys(POINTS.names) | one for one in points]
    with store(path, settings) as warehouse:
        warehouse.load({"points": pa.Table.from_pylist(filled, schema=POINTS)})
        warehouse.refresh(START_NS + 1_000 * NS_PER_S)
        return {row["signal"]: row for row in warehouse.report("engines", **asked).to_pylist()}


def test_gauges_add_over_ranks_and_the_fullest_cache_counts(tmp_path: Path) -> None:
    """Two data-parallel engines of one server run 3 and 4 requests; its cache is as full as the fuller."""
    load = [
        point("vllm:num_requests_running", 10, 3, engine="0", model_name="m"),
        point("vllm:num_requests_running", 10, 4, engine="1", model_name="m"),
        point("vllm:kv_cache_usage_perc", 10, 0.25, engine="0", model_name="m"),
        point("vllm:kv_cache_usage_perc", 10, 0.75, engine="1", model_name="m"),
    ]
    told = look(tmp_path / "d", load)
    assert (told["running"]["value"], told["kv_used_ratio"]["value"]) == (7, 0.75)
    assert {(row["engine"], row["instance"], row["model"]) for row in told.values()} == {
        ("vllm", "h:8000", "m")
    }


def test_two_names_of_one_signal_count_once(tmp_path: Path) -> None:
    """A server that tells its cache under the old and the new name is not twice as full."""
    names = ("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc")
    told = look(tmp_path / "d", [point(name, 10, 0.4) for name in names])
    assert told["kv_used_ratio"]["value"] == pytest.approx(0.4)


def test_waiting_by_reason_is_not_waiting(tmp_path: Path) -> None:
    """A longer name that splits a figure up is not added to it."""
    told = look(
        tmp_path / "d",
        [
            point("vllm:num_requests_waiting", 10, 5),
            point("vllm:num_requests_waiting_by_reason", 10, 5, reason="capacity"),
        ],
    )
    assert told["waiting"]["value"] == 5


def test_counters_are_growth_a_second_over_a_restart(tmp_path: Path) -> None:
    """100 tokens, then a restart and 30 more, within 20 s are 6.5 a second; the old total is not growth."""
    name = "vllm:generation_tokens_total"
    told = look(tmp_path / "d", [point(name, 0, 1_000), point(name, 10, 1_100), point(name, 20, 30)])
    assert told["generation_tokens"]["value"] == pytest.approx(130 / 20)


def test_a_name_without_total_is_the_same_counter(tmp_path: Path) -> None:
    """Collectors on the way take `_total` off."""
    name = "vllm:prompt_tokens"
    assert look(tmp_path / "d", [point(name, 0, 0), point(name, 10, 50)])["prompt_tokens"]["value"] == 5


def test_a_distribution_is_the_mean_of_what_came_in_the_window(tmp_path: Path) -> None:
    """Two more first tokens that took 3 s together: 1.5 s, whatever the engine's whole life says."""
    name = "vllm:time_to_first_token_seconds"
    told = look(tmp_path / "d", [point(name, 0, 100, 1), point(name, 10, 103, 3)])
    assert told["ttft"]["value"] == pytest.approx(1.5)


def test_a_distribution_without_anything_new_is_no_zero(tmp_path: Path) -> None:
    """Where nothing came, the mean is not known."""
    name = "vllm:time_to_first_token_seconds"
    told = look(tmp_path / "d", [point(name, 0, 100, 1), point(name, 10, 100, 1)])
    assert (told["ttft"]["value"], told["ttft"]["told"]) == (None, "nothing_yet")


def test_what_an_engine_does_not_tell_is_missing(tmp_path: Path) -> None:
    """An engine known by one figure shows all that it should tell, as missing, never as 0."""
    told = look(tmp_path / "d", [point("sglang:num_running_reqs", 10, 0)])
    assert (told["running"]["value"], told["running"]["told"]) == (0, "fresh")
    missing = {signal for signal, row in told.items() if row["told"] == "missing"}
    assert {"waiting", "kv_used_ratio", "prompt_tokens", "generation_tokens", "ttft"} <= missing
    assert all(told[signal]["value"] is None for signal in missing)


def test_an_old_figure_is_stale_and_shows_no_value(tmp_path: Path) -> None:
    """What was last told 90 s ago says nothing of now."""
    told = look(
        tmp_path / "d", [point("vllm:num_requests_running", 0, 3), point("vllm:num_requests_waiting", 90, 1)]
    )
    assert (told["running"]["told"], told["running"]["value"], told["running"]["age_s"]) == (
        "stale",
        None,
        90,
    )
    assert told["waiting"]["value"] == 1


def test_an_engine_belongs_to_the_deployment_it_names_else_to_that_of_its_address(tmp_path: Path) -> None:
    """The label counts before the address in the settings."""
    settings = Settings(deployments=[Deployment(name="by-address", addresses=["h:8000"])])
    name = "tgi_queue_size"
    told = look(tmp_path / "a", [point(name, 0, 1)], settings)
    assert told["waiting"]["deployment"] == "by-address"
    told = look(tmp_path / "b", [point(name, 0, 1, **{"taximeter.deployment": "named"})], settings)
    assert told["waiting"]["deployment"] == "named"


@pytest.mark.parametrize(
    ("metric", "labels", "engine", "signal"),
    [
        ("nv_trt_llm_request_metrics", {"request_type": "scheduled"}, "triton", "running"),
        ("nv_trt_llm_request_metrics", {"request_type": "waiting"}, "triton", "waiting"),
        ("trtllm_kv_cache_utilization", {}, "trtllm-serve", "kv_used_ratio"),
        ("llamacpp:requests_deferred", {}, "llama.cpp", "waiting"),
        ("ray_serve_deployment_queued_queries", {}, "ray-serve", "waiting"),
        ("tgi_batch_current_size", {}, "tgi", "running"),
        ("ollama_models_loaded", {}, "ollama", "models_loaded"),
    ],
)
def test_every_engine_is_known_by_its_own_names(
    tmp_path: Path, metric: str, labels: dict[str, str], engine: str, signal: str
) -> None:
    """A raw name, with the labels that limit it, is the signal of its engine."""
    told = look(
        tmp_path / "d", [point(metric, 1, 0.5, **labels), point(metric, 1, 9, request_type="context")]
    )
    assert told[signal]["engine"] == engine
    if labels:
        assert told[signal]["value"] == 0.5


def test_the_seed_names_each_series_once() -> None:
    """A raw name with its label is one signal of one engine, in a way of counting that the report knows."""
    seed = rows().to_pylist()
    keys = [(row["metric"], row["label_value"], row["kind"]) for row in seed]
    assert len(keys) == len(set(keys))
    assert {row["kind"] for row in seed} <= KINDS
    assert {row["over"] for row in seed} == {"sum", "max"}
