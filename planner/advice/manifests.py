"""What to apply: autoscaler manifests that do what was replayed.

Names of workloads are made from the deployment's; what only the cluster's owner knows is marked `CHANGE`.
"""

import re
from typing import Any

import yaml

from planner.facts import Facts
from planner.policy_file import NamedBlocks

_PROMETHEUS = "http://prometheus-server.monitoring.svc:9090"
_NO_NAME = re.compile(r"[^a-z0-9]+")
_IN_SYSTEM = ("running", "waiting")
_DAYS = 7
_MINUTES = _DAYS * 24 * 60


def name_of(deployment: str) -> str:
    """Make a name that Kubernetes takes: lower case, digits and dashes, 63 characters at most."""
    return _NO_NAME.sub("-", deployment.lower()).strip("-")[:63].strip("-") or "deployment"


def fixed(deployment: str, replicas: int) -> str:
    """Write an HPA that holds a number: its two bounds are the same."""
    return _hpa(deployment, (replicas, max(replicas, 1)), 1, {}, "holds a fixed number of replicas")


def keda_cron(deployment: str, needs: dict[int, int], *, zone: str, lead_s: float) -> str:
    """Write a ScaledObject with one cron trigger per stretch of hours that need more than the least."""
    least, most = min(needs.values()), max(needs.values())
    triggers = [
        {
            "type": "cron",
            "metadata": {
                "timezone": zone,
                "start": _cron(begin * 60 - round(lead_s / 60)),
                "end": _cron(end * 60),
                "desiredReplicas": str(replicas),
            },
        }
        for begin, end, replicas in stretches(needs)
        if replicas > least
    ]
    spec = {
        **_keda_target(deployment, least, most),
        "advanced": {
            "horizontalPodAutoscalerConfig": {"behavior": {"scaleDown": {"stabilizationWindowSeconds": 0}}}
        },
        "triggers": triggers,
    }
    return _write(
        _keda(deployment, spec), "replicas by the hour of the week, as the recorded load needed them"
    )


def stretches(needs: dict[int, int]) -> list[tuple[int, int, int]]:
    """Join hours of the week that follow one another with equal needs: (first hour, hour after, replicas)."""
    found: list[tuple[int, int, int]] = []
    for hour in sorted(needs):
        if found and found[-1][1] == hour and found[-1][2] == needs[hour]:
            found[-1] = (found[-1][0], hour + 1, needs[hour])
        else:
            found.append((hour, hour + 1, needs[hour]))
    return found


def of_policy(deployment: str, policy: NamedBlocks, facts: Facts) -> str | None:
    """Write the manifest of a policy as it was replayed; None for one that no autoscaler here speaks."""
    kind, block = policy.block()
    writer = _WRITERS.get(kind)
    return writer(deployment, block, facts) if writer else None


def _of_keda(deployment: str, block: Any, facts: Facts) -> str:
    name = name_of(deployment)
    trigger = {
        "type": "prometheus",
        "metadata": {
            "serverAddress": _PROMETHEUS,
            "query": " + ".join(f'sum(vllm:num_requests_{what}{{job="{name}"}})' for what in _IN_SYSTEM),
            "threshold": f"{block.threshold or facts.concurrency:g}",
            "activationThreshold": f"{block.activation_threshold:g}",
        },
    }
    spec = {
        **_keda_target(deployment, block.min_replicas, block.max_replicas or facts.most_replicas),
        "pollingInterval": int(block.polling_interval_s),
        "cooldownPeriod": int(block.cooldown_s),
        "triggers": [trigger],
    }
    told = (
        "at 0 replicas vLLM has no metrics: take the query from what stands before it (gateway, queue)"
        if block.min_replicas == 0
        else "scales on calls in the system"
    )
    return _write(_keda(deployment, spec), told)


def _of_hpa(deployment: str, block: Any, facts: Facts) -> str:
    behavior = {
        "scaleDown": {"stabilizationWindowSeconds": int(block.stabilize_down_s)},
        "scaleUp": {"stabilizationWindowSeconds": int(block.stabilize_up_s)},
    }
    bounds = (block.min_replicas, block.max_replicas or facts.most_replicas)
    target = block.target or facts.concurrency
    return _hpa(deployment, bounds, target, behavior, "scales on calls in the system")


def _of_knative(deployment: str, block: Any, facts: Facts) -> str:
    prefix = "autoscaling.knative.dev"
    notes = {
        f"{prefix}/class": "kpa.autoscaling.knative.dev",
        f"{prefix}/metric": "concurrency",
        f"{prefix}/target": f"{block.target_concurrency or facts.concurrency:g}",
        f"{prefix}/target-utilization-percentage": f"{block.target_utilization * 100:g}",
        f"{prefix}/window": f"{block.stable_window_s:g}s",
        f"{prefix}/panic-window-percentage": f"{block.panic_window_ratio * 100:g}",
        f"{prefix}/panic-threshold-percentage": f"{block.panic_threshold_ratio * 100:g}",
        f"{prefix}/scale-down-delay": f"{block.scale_down_delay_s:g}s",
        f"{prefix}/min-scale": str(block.min_replicas),
        f"{prefix}/max-scale": str(block.max_replicas or facts.most_replicas),
    }
    document = {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {"name": name_of(deployment)},
        "spec": {"template": {"metadata": {"annotations": notes}}},
    }
    return _write(document, "annotations to merge into the Service that is there")


def _of_ray(deployment: str, block: Any, facts: Facts) -> str:
    config = {
        "min_replicas": block.min_replicas,
        "max_replicas": block.max_replicas or facts.most_replicas,
        "target_ongoing_requests": block.target_ongoing_requests,
        "look_back_period_s": block.look_back_period_s,
        "upscale_delay_s": block.upscale_delay_s,
        "downscale_delay_s": block.downscale_delay_s,
    }
    if block.downscale_to_zero_delay_s is not None:
        config["downscale_to_zero_delay_s"] = block.downscale_to_zero_delay_s
    name = name_of(deployment)
    deployments = [{"name": name, "max_ongoing_requests": facts.concurrency, "autoscaling_config": config}]
    document = {"applications": [{"name": name, "deployments": deployments}]}
    return _write(document, "to merge into the Serve config: import_path and routes are yours")


_WRITERS = {"keda": _of_keda, "hpa": _of_hpa, "knative": _of_knative, "ray_serve": _of_ray}


def _keda(deployment: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": {"name": name_of(deployment)},
        "spec": spec,
    }


def _keda_target(deployment: str, least: int, most: int) -> dict[str, Any]:
    return {
        "scaleTargetRef": {"name": name_of(deployment)},
        "minReplicaCount": least,
        "maxReplicaCount": max(most, 1),
    }


def _hpa(deployment: str, bounds: tuple[int, int], target: float, behavior: dict[str, Any], told: str) -> str:
    metric = {
        "type": "Pods",
        "pods": {
            "metric": {"name": "vllm_num_requests_in_system"},
            "target": {"type": "AverageValue", "averageValue": f"{target:g}"},
        },
    }
    spec: dict[str, Any] = {
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name_of(deployment)},
        "minReplicas": max(bounds[0], 1),
        "maxReplicas": bounds[1],
        "metrics": [metric],
    }
    if behavior:
        spec["behavior"] = behavior
    document = {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": name_of(deployment)},
        "spec": spec,
    }
    return _write(document, told)


def _write(document: dict[str, Any], told: str) -> str:
    head = f"# {told}\n# CHANGE: namespace, names, and where metrics are read, to those of your cluster\n"
    return head + yaml.safe_dump(document, sort_keys=False)


def _cron(minute_of_week: int) -> str:
    """Write a minute of the week, counted from Monday 00:00, as a cron expression."""
    day, rest = divmod(minute_of_week % _MINUTES, 24 * 60)
    hour, minute = divmod(rest, 60)
    return f"{minute} {hour} * * {(day + 1) % _DAYS}"
