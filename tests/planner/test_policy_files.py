"""Policy files: what is read, what is refused, and what the linter says of them."""

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from planner.catalogue import all_policies, make_policy
from planner.facts import look
from planner.fleet import Fleet
from planner.lint import judge, judge_written
from planner.policy_file import KINDS, FleetBlock, Known, check, json_schema, make_fleet, read_yaml
from planner.testing import loops
from taximeter.cli import app
from taximeter.errors import BadInputError

REPOSITORY = Path(__file__).parents[2]
SEED_BLOCK = {
    "agent_autoscale": {
        "scale_up": "p95_latency > 800ms",
        "scale_down": "idle > 60s",
        "min_replicas": 0,
        "per_step_profile": True,
    }
}


def rules(written: dict[str, Any]) -> dict[str, str]:
    return {finding.rule: finding.level for finding in judge_written(written, "file")}


def test_the_seed_block_is_accepted_as_written() -> None:
    """The four lines are one policy, and what they leave open has its defaults."""
    (named,) = check(SEED_BLOCK, "file").all()
    policy = make_policy(named, look(loops(5, 5, 100), Fleet(), None))

    assert (policy.name, policy.start, policy.wakes_on_arrival) == ("agent_autoscale", 0, True)
    assert policy.reads == {"finished_last", "between"}


def test_the_published_schema_is_that_of_the_code() -> None:
    """docs/policy.schema.json is what `taximeter plan lint --schema` prints."""
    published = json.loads((REPOSITORY / "docs/policy.schema.json").read_text(encoding="utf-8"))

    assert published == json.loads(json.dumps(json_schema()))
    printed = CliRunner().invoke(app, ["plan", "lint", "--schema"])
    assert json.loads(printed.stdout) == published


def test_the_example_is_read_and_has_no_error() -> None:
    """The shipped file works, and the linter's words on it are no errors."""
    written = read_yaml(REPOSITORY / "examples/policy.yaml")

    assert len(check(written, "example").all()) == 5
    assert "error" not in rules(written).values()


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({"fixed": {"replicas": -1}}, "fixed.replicas: Input should be greater than or equal to 0"),
        ({"hpa": {"targets": 3}}, "hpa.targets: Extra inputs are not permitted"),
        ({"agent_autoscale": {"scale_up": "cpu > 3"}}, "scale_up: 'cpu > 3' is not understood"),
        ({"keda": {"min_replicas": 3, "max_replicas": 2}}, "max_replicas is less than min_replicas"),
        ({"policies": [{"hpa": {}, "keda": {}}]}, "a policy is exactly one of"),
        ({"fleet": {"seed": 3}}, "holds no policy"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(written: dict[str, Any], told: str) -> None:
    """One line names the file, the key and the reason."""
    with pytest.raises(BadInputError, match=r"^file") as refused:
        check(written, "file")
    assert told in str(refused.value)


@pytest.mark.parametrize(
    ("content", "told"), [("a: [", "is not YAML"), ("- 1", "must hold policies"), (None, "No such")]
)
def test_a_file_that_is_none_is_refused(tmp_path: Path, content: str | None, told: str) -> None:
    """Missing, broken and empty files are one line, not a trace."""
    file = tmp_path / "policy.yaml"
    if content is not None:
        file.write_text(content, encoding="utf-8")
    with pytest.raises(BadInputError, match=told):
        read_yaml(file)


@pytest.mark.parametrize(
    ("written", "rule", "level"),
    [
        ({"agent_autoscale": {"scale_up": "cost > 5"}}, "cost-as-trigger", "error"),
        ({"policies": [{"hpa": {"metric": "hourly spend in usd"}}]}, "cost-as-trigger", "error"),
        ({"agent_autoscale": {"scale_up": "gpu_util > 80%"}}, "gpu-utilization", "error"),
        ({"keda": {"triggers": [{"query": "avg(DCGM_FI_DEV_GPU_UTIL)"}]}}, "gpu-utilization", "error"),
        ({"keda": {"cooldown_s": 30}}, "cooldown-shorter-than-cold-start", "warning"),
        (SEED_BLOCK, "cooldown-shorter-than-cold-start", "warning"),
        (SEED_BLOCK, "zero-without-wake", "note"),
        ({"agent_autoscale": {"wake": "none"}}, "zero-without-wake", "error"),
        ({"hpa": {"min_replicas": 0}}, "zero-without-wake", "error"),
        ({"hpa": {"tolerance": 0, "stabilize_down_s": 0}}, "flapping", "warning"),
        ({"ray_serve": {"downscale_delay_s": 10}}, "flapping", "warning"),
        ({"hpa": {"targets": 3}}, "schema", "error"),
    ],
)
def test_the_linter_finds(written: dict[str, Any], rule: str, level: str) -> None:
    """Each rule of the design has a file that breaks it."""
    assert rules(written).get(rule) == level


@pytest.mark.parametrize(
    "written",
    [
        {"agent_autoscale": {"wake": "arrival", "scale_up": "p95_wait > 2s", "scale_down": "idle > 5m"}},
        {"keda": {}},
        {"policies": [{"name": "low-cost utilization", "hpa": {}}]},
    ],
)
def test_the_linter_is_silent_on_sound_files(written: dict[str, Any]) -> None:
    """No finding without a reason: names are no signals, and published defaults pass."""
    assert rules(written) == {}


def test_with_a_recording_limits_are_held_against_it() -> None:
    """Calls of 4 s break 800 ms always, and tools of 600 s outlast an idle limit of 60 s."""
    facts = look(loops(20, 20, 1_000, tool_s=600.0), Fleet(), None)
    found = {finding.rule: finding.text for finding in judge(check(SEED_BLOCK, "file"), facts)}

    assert "always broken" in found["limit-below-service"]
    assert "half of the tools take longer" in found["flapping"]


def test_all_policies_are_made_with_what_the_recording_tells() -> None:
    """Every kind there is stands in --all, and each can be made."""
    facts = look(loops(20, 20, 1_000), Fleet(), replicas=3)
    named = all_policies(facts).all()

    assert {one.block()[0] for one in named} == set(KINDS)
    assert len({make_policy(one, facts).name for one in named}) == len(named)


def test_the_fleet_is_what_the_file_says_else_what_is_known_else_said_to_be_assumed() -> None:
    """Two cards per replica double the price; a cold start that nobody gave is said to be assumed."""
    known = Known(concurrency=8, gpus_per_replica=2, usd_per_gpu_hour=Decimal("3.99"))
    fleet, assumed = make_fleet(FleetBlock(), known)
    assert (fleet.pools[0].concurrency, fleet.pools[0].usd_per_replica_hour) == (8, Decimal("7.98"))
    assert assumed == ["cold start assumed: 85.3 s, billed, never hot (see fleet.cold_start)"]

    block = FleetBlock.model_validate(
        {"concurrency": 4, "cold_start": {"p50_s": 30, "hot_p50_s": 2, "hot_for_s": 60},
         "pools": [{"name": "spot", "usd_per_gpu_hour": "1.5", "preempted_per_hour": 0.1}]}
    )  # fmt: skip
    fleet, assumed = make_fleet(block, known)
    assert assumed == []
    assert [(pool.name, pool.concurrency, pool.usd_per_replica_hour) for pool in fleet.pools] == [
        ("own", 4, Decimal("7.98")),
        ("spot", 4, Decimal("3.0")),
    ]
    with pytest.raises(BadInputError, match="how many steps a replica serves at once"):
        make_fleet(FleetBlock(), Known())


def test_the_lint_command_fails_on_errors_only(tmp_path: Path) -> None:
    """A warning is printed and passes, an error is printed and fails."""
    file = tmp_path / "policy.yaml"
    file.write_text(yaml.safe_dump(SEED_BLOCK), encoding="utf-8")
    passed = CliRunner().invoke(app, ["plan", "lint", str(file)])
    file.write_text("agent_autoscale: {scale_up: cost > 5}", encoding="utf-8")
    failed = CliRunner().invoke(app, ["plan", "lint", str(file)])

    assert (passed.exit_code, failed.exit_code) == (0, 1)
    assert "cooldown-shorter-than-cold-start" in passed.stdout
    assert "money is a result of scaling" in failed.stdout
