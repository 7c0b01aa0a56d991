"""What the day really was, for tests: counted from the plan, never from spans."""

from collections.abc import Iterable, Mapping
from typing import Any

from collector.demo.fleet import Deployment
from collector.demo.plan import Task

FILE = "demo-truth.json"


def truth(
    tasks: Iterable[Task], traces: Mapping[int, str], deployments: Mapping[str, Deployment]
) -> dict[str, Any]:
    """Write down tokens and calls by trace, and what every replica did; times count from the day's start."""
    return {
        "tasks": {traces[task.number]: _task(task) for task in tasks},
        "replicas": [
            {
                "deployment": name,
                "replica": str(number),
                "gpu_uuids": _uuids(deployment, number),
                "worked_ns": replica.stretches,
                "lost_ns": replica.lost,
            }
            for name, deployment in deployments.items()
            for number, replica in enumerate(deployment.replicas)
        ],
    }


def _uuids(deployment: Deployment, replica: int) -> list[str]:
    each = deployment.fleet.per_replica
    return deployment.fleet.uuids[replica * each : (replica + 1) * each]


def _task(task: Task) -> dict[str, Any]:
    calls = list(task.root.calls())
    tools = list(task.root.tools())
    return {
        "agent": task.agent.name,
        "service": task.agent.service,
        "dialect": task.agent.dialect,
        "task_type": task.task_type,
        "session": task.session,
        "start_ns": task.root.start_ns,
        "end_ns": task.root.end_ns,
        "llm_calls": len(calls),
        "llm_attempts": len(calls) + sum(len(call.failures) for call in calls),
        "tool_calls": len(tools),
        "tool_errors": sum(tool.error is not None for tool in tools),
        "input_tokens": sum(call.input_tokens for call in calls),
        "cache_read_tokens": sum(call.cache_read_tokens for call in calls),
        "cache_write_tokens": sum(call.cache_write_tokens for call in calls),
        "output_tokens": sum(call.output_tokens for call in calls),
        "own_gpu_calls": sum(call.model.deployment is not None for call in calls),
    }
