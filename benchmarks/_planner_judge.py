"""Where scale-to-zero pays: recorded and published loads under the seed's block, by cold start and billing.

Every load is replayed on the fewest always-on replicas that keep the SLO, and under policies that may go to
zero. Service times of loads without durations are assumed, and stand in the table.
"""

import csv
import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from collector.decode import DecodeOptions
from collector.importing import import_paths
from planner.backtest import Case, replay
from planner.catalogue import make_policy
from planner.facts import look
from planner.fleet import Billing, ColdStart, Delay, Fleet, Pool
from planner.generate import Change, change, draw
from planner.outcome import Outcome, Slo, measure
from planner.policy_file import NamedBlocks
from planner.recording import Asked, read_workload
from planner.service_model import read_service_model
from planner.simulate import simulate
from planner.workload import Step, Workload, build
from taximeter.clock import SYSTEM_CLOCK
from taximeter.layout import DataFolder
from taximeter.settings import Deployment, Settings
from warehouse.testing import store

SHARED = Path(__file__).parents[1] / "../shared/data"
MODEL = "prefill_tokens_per_s=8000,decode_tokens_per_s=60"
SLO = Slo(2.0, 0.95)
CLAIMED = 0.4
COLD_STARTS_S = (4.0, 30.0, 85.0)
SEED_BLOCK: dict[str, object] = {
    "scale_up": "p95_latency > 800ms",
    "scale_down": "idle > 60s",
    "min_replicas": 0,
}
PROFILED = {"with profiles", "prewarm"}  # they look at tools, so that an open load leaves them as they are
POLICIES: dict[str, dict[str, dict[str, object]]] = {
    "as written": {"agent_autoscale": SEED_BLOCK},
    "with profiles": {"agent_autoscale": {**SEED_BLOCK, "per_step_profile": True}},
    "on waits": {"agent_autoscale": {**SEED_BLOCK, "scale_up": "p95_wait > 800ms"}},
    "on the queue": {"agent_autoscale": {**SEED_BLOCK, "scale_up": "queue > 0"}},
    "prewarm": {"prewarm": {}},
}


class Load(NamedTuple):
    """A load, how many calls a replica serves at once, and what of it is assumed."""

    name: str
    workload: Workload
    concurrency: int


class Row(NamedTuple):
    """One policy on one load with one cold start, against always-on replicas."""

    load: str
    fixed: int
    busy_ratio: float
    policy: str
    cold_start_s: float
    saving_by_second: float
    saving_by_hour: float
    cold_starts: int
    slo_ratio: float
    wait_p95_s: float | None
    wait_p99_s: float | None
    task_p95_s: float | None

    @property
    def keeps_slo(self) -> bool:
        """Whether enough calls wait little enough."""
        return self.slo_ratio >= SLO.share


def judge(load: Load, cold_starts_s: tuple[float, ...] = COLD_STARTS_S) -> Iterator[Row]:
    """Replay one load on the fewest replicas that keep the SLO, and under each policy and cold start."""
    case = make_case(load, ColdStart(Delay(0, 0)))
    fixed, base = fewest(case)
    busy = base.gpu_hours_by_state["serving"] / base.gpu_hours
    has_tools = load.workload.served_steps < load.workload.steps
    for name, block in POLICIES.items():
        if name in PROFILED and not has_tools:
            continue
        for cold_start_s in cold_starts_s:
            there = make_case(load, ColdStart(Delay(cold_start_s, cold_start_s)))
            by_second, by_hour = _both_bills(there, NamedBlocks.model_validate(_bounded(block, fixed)))
            yield Row(
                load.name,
                fixed,
                busy,
                name,
                cold_start_s,
                1 - by_second.billed_gpu_hours / base.billed_gpu_hours,
                1 - by_hour / hourly(base),
                by_second.cold_starts,
                by_second.slo_ratio or 0.0,
                by_second.added_wait.p95,
                by_second.added_wait.p99,
                by_second.task_added_wait.p95,
            )


def _both_bills(case: Case, named: NamedBlocks) -> tuple[Outcome, float]:
    """Replay once; give the figures of a bill by the second, and GPU-hours billed by the hour."""
    policy = make_policy(named, case.facts)
    run = simulate(case.workload, policy, case.fleet)
    outcome = measure(case.workload, run, case.fleet, policy.name, SLO)
    held = zip(run.replicas.asked_s, run.replicas.gone_s, strict=True)
    by_hour = sum(Billing(3_600.0).billed_ns((gone or run.end_s) - asked) for asked, gone in held)
    return outcome, by_hour / 3.6e12


def make_case(load: Load, cold_start: ColdStart) -> Case:
    """Make the case of a load on own replicas with a cold start."""
    fleet = Fleet((Pool(concurrency=load.concurrency, cold_start=cold_start),))
    return Case(load.workload, fleet, look(load.workload, fleet, None), SLO)


def fewest(case: Case) -> tuple[int, Outcome]:
    """Find the fewest always-on replicas that keep the SLO, by halving."""
    least, most = 1, max(case.facts.most_replicas, 1)
    kept: dict[int, Outcome] = {}
    while least < most:
        middle = (least + most) // 2
        kept[middle] = replay(case, NamedBlocks.model_validate({"fixed": {"replicas": middle}}))
        keeps = (kept[middle].slo_ratio or 0) >= SLO.share
        least, most = (least, middle) if keeps else (middle + 1, most)
    return least, kept.get(least) or replay(case, NamedBlocks.model_validate({"fixed": {"replicas": least}}))


def hourly(outcome: Outcome) -> float:
    """Tell the billed GPU-hours of replicas that stand from beginning to end, in whole hours."""
    each = outcome.gpu_hours / outcome.most_replicas
    return outcome.most_replicas * Billing(3_600.0).billed_ns(each * 3_600) / 3.6e12


def _bounded(block: dict[str, dict[str, object]], most: int) -> dict[str, object]:
    ((kind, settings),) = block.items()
    return {kind: {**settings, "max_replicas": most}}


def azure() -> Load:
    """An hour of requests of a coding assistant."""
    with (SHARED / "azure-llm-inference-2023/AzureLLMInferenceTrace_code.csv").open(encoding="utf-8") as file:
        rows = [
            (
                datetime.fromisoformat(row["TIMESTAMP"][:26]).replace(tzinfo=UTC).timestamp(),
                int(row["ContextTokens"]),
                int(row["GeneratedTokens"]),
            )
            for row in csv.DictReader(file)
        ]
    return Load("azure code, 1 h", _timed(rows), 16)


def mooncake() -> Load:
    """An hour of requests of a chat service with long prompts."""
    with (SHARED / "mooncake-fast25/conversation_trace.jsonl").open(encoding="utf-8") as file:
        rows = [
            (row["timestamp"] / 1_000, row["input_length"], row["output_length"])
            for row in map(json.loads, file)
        ]
    return Load("mooncake chat, 1 h", _timed(rows), 16)


def _timed(rows: list[tuple[float, int, int]]) -> Workload:
    model = read_service_model(MODEL)
    zero = min(instant for instant, _, _ in rows)
    calls = [(at - zero, model.seconds(read, written), float(read + written)) for at, read, written in rows]
    return replace(_alone(calls), assumed=MODEL)


def _alone(calls: list[tuple[float, float, float]]) -> Workload:
    steps = [
        Step(number, number, at, at + took, took, is_served=True, tokens=tokens)
        for number, (at, took, tokens) in enumerate(calls)
    ]
    made = build(
        steps,
        deployment="judged",
        task_ids=[str(number) for number in range(len(steps))],
        profiles=["call"],
        horizon_s=max(step.start_s for step in steps),
    )
    return replace(made, kind="open loop", queueing="none recorded")


def gentd26() -> Load:
    """Eighteen days of image requests with their seconds, one at a time on a card."""
    with (SHARED / "alibaba-gentd26-gpu-serving/lora_request_trace.csv").open(encoding="utf-8") as file:
        rows = [
            (
                datetime.fromisoformat(row["gmt_create"]).replace(tzinfo=UTC).timestamp(),
                float(row["exec_time_seconds"]),
            )
            for row in csv.DictReader(file)
            if row["predict_status"] == "SUCCEED" and row["exec_time_seconds"]
        ]
    zero = min(at for at, _ in rows)
    return Load("gentd26 images, 18 d", _alone([(at - zero, took, float("nan")) for at, took in rows]), 1)


def servegen(which: str) -> Load:
    """A day of one client of a reasoning model: the busiest, or the median of those that call at all."""
    series = []
    for file in sorted((SHARED / "servegen-client-rates/reason/deepseek-r1").glob("*.csv")):
        with file.open(encoding="utf-8") as lines:
            series.append([float(row[1]) for row in csv.reader(lines)])
    totals = sorted((sum(rates), number) for number, rates in enumerate(series) if sum(rates) > 0)
    wanted = {
        "busiest": totals[-1],
        "median": min(totals, key=lambda one: abs(one[0] - median(t for t, _ in totals))),
    }
    return Load(f"servegen r1 {which} client, 1 d", draw(series[wanted[which][1]], 600.0, 20.0), 16)


def agentcgroup() -> Load:
    """Twenty hours of coding agents on one card, one task after another, in closed loops."""
    files = sorted((SHARED / "agentcgroup-coding-agents/local_glm").glob("*/trace.jsonl.gz"))
    with tempfile.TemporaryDirectory() as name, recorded(files, Path(name)) as warehouse:
        load = read_workload(warehouse, Asked("glm", slots=1, replicas=1))
    return Load("agentcgroup coding loops, 20 h", load, 1)


def company_of(one: Load, times: float) -> Load:
    """Make a company out of a load: so many times its loops, served eight at once by a replica."""
    made = change(one.workload, Change(multiply=times, seed=1))
    return Load(f"agentcgroup x {times:g} (made)", made, 8)


@contextmanager
def recorded(files: list[Path], folder: Path) -> Iterator[Any]:
    """Import files into a new warehouse whose only deployment serves one call at a time."""
    layout = DataFolder(folder).make()
    options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
    import_paths(files, layout, options, SYSTEM_CLOCK, lambda *_: None)
    settings = Settings(deployments=[Deployment(name="glm", models=["*"], concurrency=1)])
    with store(layout.root, settings) as warehouse:
        warehouse.load_inbox()
        warehouse.refresh(SYSTEM_CLOCK.now_ns())
        yield warehouse


def loads() -> Iterator[Load]:
    """Give every load, each read when it is wanted."""
    coding = agentcgroup()
    yield coding
    yield company_of(coding, 20.0)
    yield azure()
    yield mooncake()
    yield servegen("busiest")
    yield servegen("median")
    yield gentd26()


HEAD = (
    "load",
    "always on",
    "busy",
    "policy",
    "cold start",
    "saved, billed by the second",
    "by the hour",
    "cold starts",
    "within SLO",
    "added wait p95",
    "p99",
    "per task p95",
    "keeps SLO",
)


def table(rows: list[Row]) -> str:
    """Write the rows as a table in Markdown."""
    lines = [f"| {' | '.join(HEAD)} |", "|---" * len(HEAD) + "|"]
    lines += [f"| {' | '.join(cells(row))} |" for row in rows]
    return "\n".join(lines) + "\n"


def cells(row: Row) -> tuple[str, ...]:
    """Write one row."""
    waits = (row.wait_p95_s, row.wait_p99_s, row.task_p95_s)
    return (
        row.load,
        str(row.fixed),
        f"{row.busy_ratio:.0%}",
        row.policy,
        f"{row.cold_start_s:g} s",
        f"{row.saving_by_second:.0%}",
        f"{row.saving_by_hour:.0%}",
        f"{row.cold_starts:,}",
        f"{row.slo_ratio:.1%}",
        *("unknown" if wait is None else f"{wait:,.1f} s" for wait in waits),
        "yes" if row.keeps_slo else "no",
    )


def answer(rows: list[Row]) -> str:
    """Say what the rows make of the claim: about 40 % cheaper at stable waits."""
    claimed = [row for row in rows if row.saving_by_second >= CLAIMED and row.keeps_slo]
    wide = [row for row in rows if row.saving_by_second >= CLAIMED and not row.keeps_slo]
    hourly_ones = [row for row in rows if row.saving_by_hour >= CLAIMED and row.keeps_slo]
    calm = [row for row in claimed if row.task_p95_s is not None and row.task_p95_s <= SLO.added_wait_s]
    lines = [
        f"- Of {len(rows)} replays {len(claimed)} save at least {CLAIMED:.0%} within the SLO by the second.",
        f"- In {len(calm)} of these tasks end at most {SLO.added_wait_s:g} s later too (p95).",
        f"- {len(wide)} others save as much and break the SLO.",
        f"- Billed by the hour, {len(hourly_ones)} save as much within the SLO.",
    ]
    for load in dict.fromkeys(row.load for row in rows):
        mine = [row for row in rows if row.load == load]
        kept = [row for row in mine if row.keeps_slo]
        if kept:
            best = max(kept, key=lambda row: row.saving_by_second)
            slowest = max(row.cold_start_s for row in kept)
            lines.append(
                f"- {load}: busy {best.busy_ratio:.0%}; at most {best.saving_by_second:.0%} saved within the"
                f" SLO ({best.policy}, {best.cold_start_s:g} s), kept up to cold starts of {slowest:g} s."
            )
        else:
            best = max(mine, key=lambda row: row.slo_ratio)
            lines.append(
                f"- {load}: busy {best.busy_ratio:.0%}; nothing keeps the SLO, the nearest is"
                f" {best.slo_ratio:.1%} ({best.policy}, {best.cold_start_s:g} s), which saves"
                f" {best.saving_by_second:.0%}."
            )
    return "\n".join(lines) + "\n"
