"""Usage that only metrics tell: a row of a session, never a task, by difference or by sum, once."""

from collections.abc import Mapping
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from collector.decode import decode_block
from collector.decode.testing import OPTIONS, START_NS, make_logs, make_record, make_request, make_span, pairs
from collector.journal.record import Record
from taximeter.clock import NS_PER_S
from warehouse.testing import store

DELTA, CUMULATIVE = 1, 2
MODEL = "claude-sonnet-4-5"
CLAUDE = ("claude_code.token.usage", "claude-code")
COST = ("claude_code.cost.usage", "claude-code")
CODEX = ("codex.turn.token_usage", "codex_cli_rs")
GEMINI = ("gemini_cli.token.usage", "gemini-cli")
Point = tuple[float, float, float]  # start and instant in seconds, value
PARTS = ("input", "cache_read", "cache_write", "output", "reasoning", "total")


def metric(
    source: tuple[str, str],
    attributes: Mapping[str, Any],
    *points: Point,
    temporality: int = DELTA,
    histogram: bool = False,
) -> Record:
    """Make a metric request with the points of one series."""
    name, service = source
    request = ExportMetricsServiceRequest()
    of_resource = request.resource_metrics.add()
    of_resource.resource.attributes.extend(pairs({"service.name": service, "host.name": "laptop"}))
    made = of_resource.scope_metrics.add().metrics.add(name=name)
    data = made.histogram if histogram else made.sum
    data.aggregation_temporality = temporality  # type: ignore[assignment]
    for start_s, at_s, value in points:
        figure = {"sum": value, "count": 1} if histogram else {"as_double": value}
        data.data_points.add(
            start_time_unix_nano=START_NS + round(start_s * NS_PER_S),
            time_unix_nano=START_NS + round(at_s * NS_PER_S),
            attributes=pairs(attributes),
            **figure,
        )
    return make_record(request.SerializeToString(), "metrics")


def claude(kind: str, *points: Point, session: str = "s1", **more: Any) -> Record:
    return metric(CLAUDE, {"type": kind, "model": MODEL, "session.id": session}, *points, **more)


def claude_log(session: str) -> Record:
    call = {"event.name": "api_request", "model": MODEL, "input_tokens": 5, "output_tokens": 1}
    event = (START_NS, {**call, "session.id": session, "prompt.id": "p1", "request_id": "r1"})
    return make_record(make_logs(event, resource={"service.name": "claude-code"}), "logs")


def claude_span(trace: int, session: str) -> Record:
    call = {"span.type": "llm_request", "model": MODEL, "input_tokens": 5, "output_tokens": 1}
    span = make_span(
        {**call, "session.id": session, "request_id": "r1"}, name="claude_code.llm_request", trace=trace
    )
    return make_record(make_request(span, resource={"service.name": "claude-code"}))


def codex_span(trace: int, start_ns: int) -> Record:
    call = {"gen_ai.usage.input_tokens": 500, "gen_ai.usage.output_tokens": 60, "conversation.id": "c1"}
    span = make_span(call, name="handle_responses", trace=trace, start_ns=start_ns)
    resource = {"service.name": "codex_cli_rs", "host.name": "laptop"}
    return make_record(make_request(span, resource=resource))


def codex(kind: str, value: float) -> Record:
    attributes = {"token_type": kind, "model": "gpt-5-codex"}
    return metric(CODEX, attributes, (0, 10, value), temporality=CUMULATIVE, histogram=True)


def gemini(kind: str, value: float) -> Record:
    return metric(GEMINI, {"type": kind, "model": "gemini-2.5-pro", "session.id": "g1"}, (0, 10, value))


HOUR_S = 3_600
ONE_POINT = claude("input", (0, 10, 7))
CASES: dict[str, list[Record]] = {
    "claude": [
        claude("input", (0, 10, 100), (10, 20, 50)),
        claude("cacheRead", (0, 10, 1000)),
        claude("cacheCreation", (0, 10, 200)),
        claude("output", (0, 10, 30), (10, 20, 3)),
        metric(COST, {"model": MODEL, "session.id": "s1"}, (0, 10, 0.25)),
    ],
    "codex": [
        codex("input", 500), codex("cached_input", 400), codex("output", 60), codex("reasoning_output", 40),
        codex("total", 560),
    ],
    "gemini": [
        gemini("input", 300), gemini("tool", 10), gemini("cache", 200), gemini("output", 20),
        gemini("thought", 5),
    ],
    "output alone": [claude("output", (0, 10, 9))],
    "cumulative": [claude("input", (0, 10, 100), (0, 20, 140), (0, 30, 140), temporality=CUMULATIVE)],
    "out of order": [claude("input", (0, 30, 140), (0, 10, 100), (0, 20, 120), temporality=CUMULATIVE)],
    "restarted": [claude("input", (0, 10, 100), (0, 20, 140), (25, 30, 15), temporality=CUMULATIVE)],
    "dropped": [claude("input", (0, 10, 100), (0, 20, 15), temporality=CUMULATIVE)],
    "two programs": [
        claude("input", (0, 10, 100), (5, 11, 1), (0, 20, 140), (5, 21, 3), temporality=CUMULATIVE),
    ],
    "sent again": [ONE_POINT, ONE_POINT],
    "gauge": [claude("input", (0, 10, 7), temporality=0)],
    "other metric": [metric(("gen_ai.client.token.usage", "gemini-cli"), {"session.id": "g1"}, (0, 10, 7))],
    "metrics and logs": [claude("input", (0, 10, 7)), claude_log("s1")],
    "metrics and spans": [claude("input", (0, 10, 7)), claude_span(901, "s1")],
    "all three": [claude("input", (0, 10, 7)), claude_log("s1"), claude_span(902, "s1")],
    "logs of another session": [claude("input", (0, 10, 7)), claude_log("s2")],
    "nameless told": [codex("input", 500), codex_span(903, START_NS)],
    "nameless long ago": [codex("input", 500), codex_span(904, START_NS - 3 * HOUR_S * NS_PER_S)],
}  # fmt: skip


@pytest.fixture(name="seen", scope="module")
def _seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """Load every case as a tenant of its own; give the rows of the report by case."""
    records = [record._replace(tenant=case) for case, held in CASES.items() for record in held]
    with store(tmp_path_factory.mktemp("metrics")) as warehouse:
        warehouse.load(decode_block(records, OPTIONS))
        rows = warehouse.report("session_usage").to_pylist()
        later = warehouse.report("session_usage", since_ns=START_NS + 15 * NS_PER_S).to_pylist()
    seen = {case: [row for row in rows if row["tenant"] == case] for case in CASES}
    return seen | {f"{case} later": [row for row in later if row["tenant"] == case] for case in CASES}


def tokens(seen: dict[str, list[dict[str, Any]]], case: str) -> list[tuple[int | None, ...]]:
    return [tuple(row[f"{part}_tokens"] for part in PARTS) for row in seen[case]]


def inputs(seen: dict[str, list[dict[str, Any]]], case: str) -> list[int]:
    return [row["input_tokens"] for row in seen[case]]


@pytest.mark.parametrize(
    ("case", "figures"),
    [
        ("claude", (1350, 1000, 200, 33, None, 1383)),
        ("codex", (500, 400, None, 60, 40, 560)),
        ("gemini", (310, 200, None, 25, 5, 335)),
    ],
)
def test_the_parts_of_each_source_come_to_one_meaning(
    seen: dict[str, list[dict[str, Any]]], case: str, figures: tuple[Any, ...]
) -> None:
    """Input holds the cache, output the reasoning, whether the source's parts overlap or not."""
    assert tokens(seen, case) == [figures]


def test_a_row_says_whose_it_is(seen: dict[str, list[dict[str, Any]]]) -> None:
    """Session, model, the signal that told it, and the source's own cost."""
    (row,) = seen["claude"]
    assert (row["session"], row["model"], row["signal"], row["provenance"]) == (
        "s1",
        MODEL,
        "metric",
        "reported",
    )
    assert str(row["reported_cost_usd"]) == "0.250000000000"
    assert seen["codex"][0]["session"] is None


def test_what_no_point_told_is_unknown(seen: dict[str, list[dict[str, Any]]]) -> None:
    """A part without points is null, not zero."""
    assert tokens(seen, "output alone") == [(None, None, None, 9, None, 9)]


@pytest.mark.parametrize(
    ("case", "total"),
    [("cumulative", 140), ("out of order", 140), ("restarted", 155), ("dropped", 115), ("two programs", 143)],
)
def test_a_running_counter_counts_by_difference(
    seen: dict[str, list[dict[str, Any]]], case: str, total: int
) -> None:
    """In any order of arrival; after a reset from zero; each run of a program for itself."""
    assert inputs(seen, case) == [total]


def test_a_range_holds_what_was_added_in_it(seen: dict[str, list[dict[str, Any]]]) -> None:
    """The difference to the point before the range counts, not the counter's whole value."""
    assert (inputs(seen, "cumulative later"), inputs(seen, "claude later")) == ([40], [50])


def test_a_point_that_is_sent_again_counts_once(seen: dict[str, list[dict[str, Any]]]) -> None:
    """A retried export adds nothing."""
    assert inputs(seen, "sent again") == [7]


@pytest.mark.parametrize("case", ["gauge", "other metric"])
def test_only_known_counters_are_usage(seen: dict[str, list[dict[str, Any]]], case: str) -> None:
    """A gauge says no amount used, and a second metric of the same usage would double it."""
    assert seen[case] == []


@pytest.mark.parametrize("case", ["metrics and logs", "metrics and spans", "all three", "nameless told"])
def test_spans_and_logs_speak_before_metrics(seen: dict[str, list[dict[str, Any]]], case: str) -> None:
    """A session that either tells has no row; without a session, the service's usage within an hour tells."""
    assert seen[case] == []


@pytest.mark.parametrize(("case", "total"), [("logs of another session", 7), ("nameless long ago", 500)])
def test_others_do_not_speak_for_it(seen: dict[str, list[dict[str, Any]]], case: str, total: int) -> None:
    """Another session's logs, or spans of another day, tell nothing of these tokens."""
    assert inputs(seen, case) == [total]
