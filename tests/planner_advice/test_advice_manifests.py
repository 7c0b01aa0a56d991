"""Manifests say what was replayed, in the words of the autoscaler that reads them."""

from typing import Any

import pytest
import yaml

from planner.advice import manifests
from planner.facts import Facts
from planner.policy_file import NamedBlocks

FACTS = Facts(16, 60.0, 1.0, 1.0, 2.0, 40, 4, None, None, ())


def written(block: dict[str, Any]) -> dict[str, Any]:
    text = manifests.of_policy("Qwen Coder/1", NamedBlocks.model_validate(block), FACTS)
    assert text is not None
    document: dict[str, Any] = yaml.safe_load(text)
    return document


def test_keda_gets_the_threshold_and_times_of_the_replay() -> None:
    """Threshold is the concurrency, where the policy names none; bounds are those of the replay."""
    spec = written({"keda": {"min_replicas": 0, "cooldown_s": 3600}})["spec"]

    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (0, 4)
    assert (spec["pollingInterval"], spec["cooldownPeriod"]) == (30, 3_600)
    assert spec["triggers"][0]["metadata"]["threshold"] == "16"
    assert spec["scaleTargetRef"]["name"] == "qwen-coder-1"


def test_hpa_gets_its_bounds_target_and_windows() -> None:
    """An HPA cannot go below one replica without a feature gate."""
    spec = written({"hpa": {"stabilize_down_s": 120}})["spec"]

    assert (spec["minReplicas"], spec["maxReplicas"]) == (1, 4)
    assert spec["metrics"][0]["pods"]["target"]["averageValue"] == "16"
    assert spec["behavior"]["scaleDown"]["stabilizationWindowSeconds"] == 120


def test_knative_gets_annotations_as_text() -> None:
    """Annotations are strings; the target is before utilization, as Knative takes it."""
    notes = written({"knative": {"min_replicas": 0, "scale_down_delay_s": 600}})["spec"]["template"][
        "metadata"
    ]
    found = {
        key.removeprefix("autoscaling.knative.dev/"): value for key, value in notes["annotations"].items()
    }

    assert all(isinstance(value, str) for value in found.values())
    assert (found["target"], found["target-utilization-percentage"], found["window"]) == ("16", "70", "60s")
    assert (found["min-scale"], found["max-scale"], found["scale-down-delay"]) == ("0", "4", "600s")


def test_ray_serve_gets_its_autoscaling_config() -> None:
    """The keys are those of Ray's own config, the limit of requests is the replayed concurrency."""
    (one,) = written({"ray_serve": {"min_replicas": 0}})["applications"][0]["deployments"]

    assert one["max_ongoing_requests"] == 16
    assert one["autoscaling_config"]["target_ongoing_requests"] == 2
    assert one["autoscaling_config"]["min_replicas"] == 0


def test_a_fixed_number_has_equal_bounds() -> None:
    """Both bounds of the HPA are the number."""
    spec = yaml.safe_load(manifests.fixed("own", 3))["spec"]

    assert (spec["minReplicas"], spec["maxReplicas"]) == (3, 3)


def test_a_policy_that_no_autoscaler_speaks_has_no_manifest() -> None:
    """Nothing is written that would do something else than what was replayed."""
    assert manifests.of_policy("own", NamedBlocks.model_validate({"queue_length": {}}), FACTS) is None


def test_hours_of_the_week_become_cron_triggers_that_start_early() -> None:
    """Tuesday 9 to 11 is `* * 2` in cron; with five minutes of lead it starts at 8:55."""
    needs = {hour: 4 if hour in {33, 34} else 1 for hour in range(168)}

    spec = yaml.safe_load(manifests.keda_cron("own", needs, zone="Europe/Berlin", lead_s=300))["spec"]

    assert (spec["minReplicaCount"], spec["maxReplicaCount"]) == (1, 4)
    (trigger,) = spec["triggers"]
    assert trigger["metadata"] == {
        "timezone": "Europe/Berlin",
        "start": "55 8 * * 2",
        "end": "0 11 * * 2",
        "desiredReplicas": "4",
    }


@pytest.mark.parametrize(
    ("hours", "start", "end"),
    [
        ({0}, "55 23 * * 0", "0 1 * * 1"),
        ({167}, "55 22 * * 0", "0 0 * * 1"),
        ({143}, "55 22 * * 6", "0 0 * * 0"),
    ],
)
def test_the_week_is_a_circle(hours: set[int], start: str, end: str) -> None:
    """Monday's first hour starts on Sunday night, Sunday's last ends on Monday."""
    needs = {hour: 2 if hour in hours else 1 for hour in range(168)}

    spec = yaml.safe_load(manifests.keda_cron("own", needs, zone="UTC", lead_s=300))["spec"]

    assert [(t["metadata"]["start"], t["metadata"]["end"]) for t in spec["triggers"]] == [(start, end)]
