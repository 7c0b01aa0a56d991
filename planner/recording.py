"""Workloads out of the warehouse: recorded tasks as closed loops, request logs as arrivals."""

from bisect import bisect_left, bisect_right
from dataclasses import replace
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import pyarrow as pa

from planner.service_model import Call, ServiceModel, fit_slow_down
from planner.workload import UNKNOWN, Step, Workload, build, saturated, strip_queue
from taximeter.errors import NotFoundError

_S_PER_US = 1e-6
_NS_PER_US = 1_000
# A later prompt of a conversation waits for the answer before it only if the person came back soon.
THINK_AT_MOST_S = 1_800.0
_ENOUGH_TOLD = 0.5


class Reports(Protocol):
    """Who answers reports."""

    def report(self, name: str, **params: str | float | None) -> pa.Table:
        """Answer a report or raise TaximeterError."""
        ...


class Asked(NamedTuple):
    """What of the recording is wanted; None where the recording decides."""

    deployment: str
    since: str | int | None = None
    until: str | int | None = None
    slots: int | None = None  # steps served at once by all replicas, to estimate queueing with
    replicas: int | None = None
    service_model: ServiceModel | None = None


def read_workload(reports: Reports, asked: Asked) -> Workload:
    """Read what was asked of a deployment.

    Calls without a length (a request log) become arrivals, and need a service model; then nothing is known
    of loops, and a slow answer delays no later request.

    Raises:
        NotFoundError: nothing of it can be replayed; the text says why.
        TaximeterError: the warehouse does not answer.
    """
    table = reports.report("workload_steps", since=asked.since, until=asked.until)
    rows = [row for row in _rows(table) if not row["is_open"]]
    calls = [row for row in rows if _is_call_of(row, asked.deployment)]
    if not calls and asked.service_model:  # a log of requests that went nowhere yet
        calls = [row for row in rows if _is_call_of(row, None)]
    if not calls:
        message = f"no closed task with a call to {asked.deployment!r} is recorded in that time"
        raise NotFoundError(message)
    timed = [row for row in calls if row["ended_at"] is not None]
    if asked.service_model or not timed:
        return _arrivals(calls, asked)
    return _closed_loops(rows, calls, timed, asked)


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    """Give rows with instants as whole microseconds since the epoch."""
    for name in ("started_at", "ended_at", "busy_started_at", "busy_ended_at"):
        place = table.column_names.index(name)
        micros = table.column(name).cast(pa.timestamp("us")).cast(pa.int64())
        table = table.set_column(place, name, micros)
    rows: list[dict[str, Any]] = table.to_pylist()
    return rows


def _is_call_of(row: dict[str, Any], deployment: str | None) -> bool:
    return row["kind"] in {"llm", "embedding"} and row["deployment"] == deployment


def _arrivals(calls: list[dict[str, Any]], asked: Asked) -> Workload:
    model = asked.service_model
    if model is None:
        message = (
            f"the calls to {asked.deployment!r} are arrivals without durations; say how long a call takes:"
            " --service-model 'prefill_tokens_per_s=8000,decode_tokens_per_s=60'"
        )
        raise NotFoundError(message)
    known = [row for row in calls if row["input_tokens"] is not None and row["output_tokens"] is not None]
    if not known:
        message = f"no call to {asked.deployment!r} has known tokens, so no service model can time it"
        raise NotFoundError(message)
    zero_us = min(row["started_at"] for row in known)
    steps: list[Step] = []
    for number, row in enumerate(known):
        begin = (row["started_at"] - zero_us) * _S_PER_US
        seconds = model.seconds(row["input_tokens"], row["output_tokens"])
        tokens = float(row["input_tokens"] + row["output_tokens"])
        steps.append(Step(number, number, begin, begin + seconds, seconds, True, 0.0, tokens))
    built = build(
        steps,
        deployment=asked.deployment,
        task_ids=[str(row["task_id"]) for row in known],
        profiles=["call"],
        horizon_s=max(step.start_s for step in steps),
        start_ns=zero_us * _NS_PER_US,
    )
    note = "arrivals only: a slow answer delays no later request; added wait is all of the simulated wait"
    return replace(
        built,
        kind="open loop",
        assumed=str(model),
        queueing="none recorded",
        coverage_ratio=len(known) / len(calls),
    ).noted(note)


def _closed_loops(
    rows: list[dict[str, Any]], calls: list[dict[str, Any]], timed: list[dict[str, Any]], asked: Asked
) -> Workload:
    busy, how, notes = _busy(timed, asked.slots)
    begun = {id(row): begin for row, begin in zip(timed, busy, strict=True)}
    tasks_with_calls = {row["task_id"] for row in timed}
    kept = [row for row in rows if row["task_id"] in tasks_with_calls and row["ended_at"] is not None]
    zero_us = min(row["started_at"] for row in kept)
    slow, slow_note = _slow_down(timed, busy, asked.replicas)
    groups = _groups(kept)
    task_ids = sorted(tasks_with_calls)
    task_of = {name: number for number, name in enumerate(task_ids)}
    profiles = sorted({str(row["name"] or row["kind"]) for row in kept})
    profile_of = {name: number for number, name in enumerate(profiles)}
    steps = []
    for row in kept:
        profile = profile_of[str(row["name"] or row["kind"])]
        group, task = groups[row["task_id"]], task_of[row["task_id"]]
        if id(row) in begun:
            slowed = slow.get(id(row), 1.0)
            place = (group, task, profile)
            steps.append(_served(row, place, begin_us=begun[id(row)], slowed=slowed, zero_us=zero_us))
        else:
            begin, end = (max(row[name] - zero_us, 0) * _S_PER_US for name in ("started_at", "ended_at"))
            steps.append(Step(group, task, begin, end, end - begin, False, profile=profile))
    built = build(
        steps,
        deployment=asked.deployment,
        task_ids=task_ids,
        profiles=profiles,
        horizon_s=max(step.end_s for step in steps),
        start_ns=zero_us * _NS_PER_US,
    )
    served = [
        (begin * _S_PER_US, row["busy_ended_at"] * _S_PER_US) for row, begin in zip(timed, busy, strict=True)
    ]
    full = saturated(served, asked.slots) if asked.slots else ()
    return replace(
        built,
        queueing=how,
        coverage_ratio=len(timed) / len(calls),
        saturated_minutes=full,
        slow_down=slow_note[0],
    ).noted(*notes, slow_note[1])


def _served(
    row: dict[str, Any], place: tuple[int, int, int], *, begin_us: float, slowed: float, zero_us: int
) -> Step:
    """Make a step of a call: it comes when its queueing began, and what the client did after is a pause."""
    queued_s = row["queue_s"]
    end = (row["busy_ended_at"] - zero_us) * _S_PER_US
    begin = min((begin_us - zero_us) * _S_PER_US, end)
    wait = queued_s if queued_s is not None else begin - (row["busy_started_at"] - zero_us) * _S_PER_US
    wait = min(max(wait, 0.0), begin)
    tokens = UNKNOWN
    if row["input_tokens"] is not None and row["output_tokens"] is not None:
        tokens = float(row["input_tokens"] + row["output_tokens"])
    group, task, profile = place
    return Step(group, task, begin - wait, end, (end - begin) / slowed, True, wait, tokens, profile)


def _busy(timed: list[dict[str, Any]], slots: int | None) -> tuple[list[float], str, list[str]]:
    """Tell when each call began to be served (microseconds), how that is known, and what to say of it."""
    told = sum(row["queue_s"] is not None for row in timed)
    begins = [float(row["busy_started_at"]) for row in timed]
    if told >= len(timed) * _ENOUGH_TOLD or slots is None:
        if told == len(timed):
            return begins, "measured", []
        if told:
            return (
                begins,
                "measured",
                [f"{len(timed) - told} of {len(timed)} calls tell no queue time: taken as none"],
            )
        return (
            begins,
            "unknown",
            ["no call tells its queue time and the slots are unknown: none is taken off"],
        )
    order = sorted(range(len(timed)), key=lambda place: begins[place])
    queueing = strip_queue(
        [begins[i] for i in order], [float(timed[i]["busy_ended_at"]) for i in order], slots
    )
    for place, begin in zip(order, queueing.begin_s, strict=True):
        if timed[place]["queue_s"] is None:
            begins[place] = begin
    note = queueing.note or f"queueing estimated: {slots} steps at once, first come first served"
    return begins, queueing.how, [note]


def _groups(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Number what runs in one closed loop: a task, with those shortly before it of its conversation."""
    spans: dict[str, tuple[str | None, int, int]] = {}
    for row in rows:
        _, begin, end = spans.get(row["task_id"], (None, row["started_at"], row["ended_at"]))
        spans[row["task_id"]] = (row["session"], min(begin, row["started_at"]), max(end, row["ended_at"]))
    found: dict[str, int] = {}
    last: dict[str, tuple[int, int]] = {}  # session -> group and end of its newest task
    for number, (task, (session, begin, end)) in enumerate(
        sorted(spans.items(), key=lambda item: item[1][1:])
    ):
        group = number
        if session is not None:
            earlier = last.get(session)
            if earlier and 0 <= (begin - earlier[1]) * _S_PER_US <= THINK_AT_MOST_S:
                group = earlier[0]
            last[session] = (group, max(end, earlier[1] if earlier else end))
        found[task] = group
    return found


def _slow_down(
    timed: list[dict[str, Any]], busy: list[float], replicas: int | None
) -> tuple[dict[int, float], tuple[float, str]]:
    """Fit the slow-down; give each call's own factor too, by which its recorded time is longer than alone."""
    if replicas is None:
        return {}, (0.0, "no slow-down by company: the number of replicas is unknown")
    company = _company([(begin, float(row["busy_ended_at"])) for row, begin in zip(timed, busy, strict=True)])
    others = [max(mean / replicas - 1, 0.0) for mean in company]
    calls = [
        Call((row["busy_ended_at"] - begin) * _S_PER_US, beside, *_tokens(row))
        for row, begin, beside in zip(timed, busy, others, strict=True)
    ]
    fitted = fit_slow_down(calls)
    factors = {id(row): 1 + fitted.ratio * beside for row, beside in zip(timed, others, strict=True)}
    return factors if fitted.ratio else {}, (fitted.ratio, fitted.note)


def _tokens(row: dict[str, Any]) -> tuple[float, float, float]:
    names = ("input_tokens", "cache_read_tokens", "output_tokens")
    found = tuple(UNKNOWN if row[name] is None else float(row[name]) for name in names)
    return found[0], found[1], found[2]


def _company(intervals: list[tuple[float, float]]) -> list[float]:
    """Tell the mean number of intervals in flight during each of them, itself included."""
    zero = min((begin for begin, _ in intervals), default=0.0)  # sums of instants must stay exact
    intervals = [(begin - zero, end - zero) for begin, end in intervals]
    begins = sorted(begin for begin, _ in intervals)
    ends = sorted(end for _, end in intervals)
    begun, ended = ([0.0, *accumulate(instants)] for instants in (begins, ends))

    def passed(instants: list[float], sums: list[float], at: float) -> float:
        count = bisect_right(instants, at)
        return count * at - sums[count]

    found = []
    for begin, end in intervals:
        if end <= begin:
            found.append(float(bisect_right(begins, begin) - bisect_left(ends, begin)) or 1.0)
            continue
        area = passed(begins, begun, end) - passed(begins, begun, begin)
        area -= passed(ends, ended, end) - passed(ends, ended, begin)
        found.append(area / (end - begin))
    return found
