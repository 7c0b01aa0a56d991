"""Usage that comes as log events: tasks of its own, and never a second time what spans told."""

import itertools
from collections.abc import Iterable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from token_bench import rows_of

from collector.decode import decode_block
from collector.decode.testing import OPTIONS, START_NS, make_logs, make_record, make_request, make_span
from collector.journal.record import Record
from taximeter.clock import NS_PER_S
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.testing import store

LATER_NS = START_NS + 86_400 * NS_PER_S
IDS = {"task_id", "trace_ids", "first_step_id", "answer_step_id", "tenant"}
PLANTED = "the planted words of a user"
SESSION = {"session.id": "s1"}
MODEL = "claude-sonnet-4-5-20250929"
Event = tuple[float, dict[str, Any]]


def claude_call(at_s: float, prompt: str, request: str | None, tokens: tuple[int, int], **more: Any) -> Event:
    ids = {"request_id": request} if request else {}
    usage = {"input_tokens": str(tokens[0]), "output_tokens": str(tokens[1]), "cache_read_tokens": 100}
    named = {"event.name": "api_request", "model": MODEL, "prompt.id": prompt, **SESSION}
    return at_s, {**named, **usage, **ids, "duration_ms": "1000", **more}


LOGS: list[Event] = [
    (0.5, {"event.name": "user_prompt", "prompt": PLANTED, "prompt.id": "p1", **SESSION}),
    claude_call(2, "p1", "r1", (900, 50)),
    (4, {"event.name": "tool_result", "tool_name": "Bash", "tool_use_id": "t1", "success": "true",
         "tool_input": PLANTED, "duration_ms": 1500, "prompt.id": "p1", **SESSION}),
    claude_call(6, "p1", "r2", (1200, 70)),
    (20, {"event.name": "api_error", "status_code": 529, "attempt": 3, "error": PLANTED, "model": MODEL,
          "prompt.id": "p2", "duration_ms": 9000, **SESSION}),
    claude_call(22, "p2", "r3", (1500, 80)),
]  # fmt: skip


def logs_of(events: Iterable[Event], service: str = "claude-code", **more: Any) -> Record:
    timed = [(START_NS + round(at_s * NS_PER_S), held) for at_s, held in events]
    return make_record(make_logs(*timed, resource={"service.name": service}, **more), "logs")


def claude_span(number: int, at_s: float, trace: int, **attributes: Any) -> Any:
    kind = "tool" if "tool_name" in attributes else "llm_request"
    return make_span(
        {"span.type": kind, **SESSION, **attributes},
        name=f"claude_code.{kind}",
        number=number,
        trace=trace,
        parent=1,
        start_ns=START_NS + round((at_s - 1) * NS_PER_S),
    )


def usage(request: str | None, tokens: tuple[int, int]) -> dict[str, Any]:
    named = {"model": MODEL, "input_tokens": tokens[0], "output_tokens": tokens[1], "cache_read_tokens": 100}
    return named | ({"request_id": request} if request else {})


def spans_of(*spans: Any, service: str = "claude-code", scope: str = "app") -> Record:
    return make_record(make_request(*spans, scope=scope, resource={"service.name": service}))


def turn(trace: int, at_s: float) -> Any:
    return make_span(
        SESSION,
        name="claude_code.interaction",
        trace=trace,
        start_ns=START_NS + round(at_s * NS_PER_S),
        duration_ns=9 * NS_PER_S,
    )


def first_turn(trace: int) -> Record:
    return spans_of(
        turn(trace, 0.5),
        claude_span(2, 2, trace, **usage("r1", (900, 50))),
        claude_span(3, 4, trace, tool_name="Bash", tool_use_id="t1"),
        claude_span(4, 6, trace, **usage("r2", (1200, 70))),
    )


def second_turn(trace: int) -> Record:
    return spans_of(turn(trace, 12), claude_span(5, 22, trace, attempt=3, **usage("r3", (1500, 80))))


def one_call(trace: int, **attributes: Any) -> Record:
    return spans_of(turn(trace, 0.5), claude_span(2, 2, trace, **attributes))


CODEX: dict[str, Any] = {"conversation.id": "c1", "model": "gpt-5-codex"}
CODEX_LOGS: list[Event] = [
    (1, {**CODEX, "event.name": "codex.api_request", "http.response.status_code": "503", "attempt": 0,
         "duration_ms": "200"}),
    (2, {**CODEX, "event.name": "codex.api_request", "http.response.status_code": "200", "attempt": 1,
         "duration_ms": "300"}),
    (3, {**CODEX, "event.name": "codex.sse_event", "event.kind": "response.completed",
         "input_token_count": "500", "output_token_count": "60", "cached_token_count": 400,
         "reasoning_token_count": 40, "tool_token_count": "560"}),
    (4, {**CODEX, "event.name": "codex.tool_result", "tool_name": "shell", "call_id": "t1", "success": "true",
         "duration_ms": "500", "arguments": "{}", "output": "done"}),
]  # fmt: skip


GEMINI: dict[str, Any] = {"session.id": "g1", "prompt_id": "g1########0", "model": "gemini-2.5-pro"}
GEMINI_LOG: Event = (
    3,
    {
        **GEMINI,
        "event.name": "gemini_cli.api_response",
        "input_token_count": 300,
        "output_token_count": 20,
        "thoughts_token_count": 5,
    },
)
ID_PAIRS = {
    "no id on the span": (None, "r1"),
    "no id on the log": ("r1", None),
    "no ids": (None, None),
    "ids of two kinds": ("msg_1", "req_1"),
}


def cases() -> dict[str, list[Record]]:
    """Make the requests of every case in the order of their arrival; each is a tenant of its own."""
    number = itertools.count(1_000)

    def codex_span(trace: int, name: str, prefix: str) -> Record:
        counts = {f"{prefix}.input_tokens": 500, f"{prefix}.output_tokens": 60}
        return spans_of(make_span({**CODEX, **counts}, name=name, trace=trace), service="codex_cli_rs")

    def gemini_span(trace: int) -> Record:
        counts = {"gen_ai.usage.input_tokens": 300, "gen_ai.usage.output_tokens": 20}
        named = {"gen_ai.operation.name": "llm_call", "gen_ai.conversation.id": "g1"}
        call = make_span({**named, **counts}, name="llm_call", trace=trace)
        return spans_of(call, service="gemini-cli", scope="gemini-cli")

    linked, sessionless = next(number), next(number)
    made = {
        "logs": [logs_of(LOGS)],
        "logs twice": [logs_of(LOGS), logs_of(LOGS)],
        "spans": [first_turn(next(number)), second_turn(next(number))],
        "a lost turn": [first_turn(next(number)), logs_of(LOGS)],
        "another session": [
            first_turn(next(number)),
            logs_of([claude_call(2, "p1", None, (10, 1), **{"session.id": "s2"})]),
        ],
        "session on the root": [
            logs_of(LOGS[1:2]),
            spans_of(
                turn(sessionless, 0),
                make_span(
                    {"span.type": "llm_request", **usage(None, (900, 50))},
                    name="claude_code.llm_request",
                    number=2,
                    parent=1,
                    trace=sessionless,
                ),
            ),
        ],
        "sub-agent": [
            logs_of(
                [
                    claude_call(2, "p1", "r1", (900, 50), query_source="main"),
                    claude_call(4, "p1", "r2", (800, 9), query_source="subagent", **{"agent.name": "search"}),
                    claude_call(6, "p1", "r3", (1200, 70), query_source="main"),
                    claude_call(8, "p1", "r4", (1000, 5), query_source="auxiliary"),
                ]
            )
        ],
        "codex logs": [logs_of(CODEX_LOGS, "codex_cli_rs")],
        "codex both": [
            logs_of(CODEX_LOGS, "codex_cli_rs"),
            codex_span(next(number), "handle_responses", "gen_ai.usage"),
        ],
        "codex linked": [
            logs_of(CODEX_LOGS, "codex_cli_rs", trace_id=linked.to_bytes(16, "big")),
            codex_span(linked, "handle_responses", "gen_ai.usage"),
        ],
        "codex turn": [
            logs_of(CODEX_LOGS, "codex_cli_rs"),
            codex_span(next(number), "session_task.turn", "codex.turn.token_usage"),
        ],
        "gemini logs": [logs_of([GEMINI_LOG], "gemini-cli")],
        "gemini both": [logs_of([GEMINI_LOG], "gemini-cli"), gemini_span(next(number))],
    }
    for name, (of_span, of_log) in ID_PAIRS.items():
        span = one_call(next(number), **usage(of_span, (900, 50)))
        made[name] = [span, logs_of([claude_call(2, "p1", of_log, (900, 50))])]
    for order in itertools.permutations(range(4)):
        parts = [first_turn(next(number)), second_turn(next(number)), logs_of(LOGS[:3]), logs_of(LOGS[3:])]
        made[f"order {order}"] = [parts[place] for place in order]
    return made


class Seen(NamedTuple):
    """What the warehouse made of the cases."""

    tasks: dict[str, list[Mapping[str, Any]]]  # by case, in order of start
    buckets: dict[str, list[list[Any]]]  # by case and task: bucket, tokens, cost
    doubles: list[Mapping[str, Any]]
    explained: list[Mapping[str, Any]]
    broken: list[str]
    holds_planted: bool


@pytest.fixture(name="seen", scope="module")
def _seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    """Load the first request of every case, refresh, load the second, and so on."""
    path = tmp_path_factory.mktemp("logs")
    made = cases()
    with store(path) as warehouse:
        for place in range(4):
            block = [
                records[place]._replace(tenant=case) for case, records in made.items() if place < len(records)
            ]
            warehouse.load(decode_block(block, OPTIONS))
            warehouse.refresh(LATER_NS)
        found = sorted(rows_of(warehouse, "tasks"), key=lambda row: row["start_ns"])
        parts = rows_of(warehouse, "task_buckets")
        seen = Seen(
            {case: [row for row in found if row["tenant"] == case] for case in made},
            {
                case: [_buckets(parts, row["task_id"]) for row in found if row["tenant"] == case]
                for case in made
            },
            warehouse.report("double_counts").to_pylist(),
            warehouse.report("explain").to_pylist(),
            warehouse.check_laws(),
            any(PLANTED.encode() in file.read_bytes() for file in path.rglob("*") if file.is_file()),
        )
    assert seen.tasks
    return seen


def _buckets(parts: Iterable[Mapping[str, Any]], task_id: str) -> list[Any]:
    rows = [row for row in parts if row["task_id"] == task_id]
    return sorted((row["bucket"], row["tokens"], row["token_cost_usd"]) for row in rows)


def figures(seen: Seen, case: str, *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in seen.tasks[case]]


def totals(seen: Seen, case: str) -> list[int]:
    return [row["total_tokens"] for row in seen.tasks[case]]


def test_each_prompt_of_a_session_that_only_logs_tell_is_a_task(seen: Seen) -> None:
    """Tokens, calls, tools, tries and the single pass come from its events."""
    assert figures(seen, "logs", "session", "status") == [("s1", "ok"), ("s1", "ok")]
    assert figures(seen, "logs", "llm_calls", "llm_attempts", "tool_calls") == [(2, 2, 1), (1, 3, 0)]
    assert figures(seen, "logs", "input_tokens", "output_tokens") == [(900 + 1200 + 200, 120), (1600, 80)]
    assert figures(seen, "logs", "single_pass_tokens")[0] == (1000 + 70,)
    assert all(row["token_cost_usd"] > 0 for row in seen.tasks["logs"])


def test_nothing_keeps_what_a_user_wrote(seen: Seen) -> None:
    """A prompt, an argument, an error's sentence: none of their words is in the data folder."""
    assert not seen.holds_planted


def test_the_laws_hold_over_logs(seen: Seen) -> None:
    """Buckets sum to steps and tasks, spans are in one task, whatever signal told of them."""
    assert seen.broken == []


def test_a_log_request_that_is_sent_again_counts_once(seen: Seen) -> None:
    """A retried export, or two exporters for one run, add nothing."""
    assert totals(seen, "logs twice") == totals(seen, "logs") == [2420, 1680]


@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_spans_and_logs_of_one_run_count_once_in_any_order(seen: Seen, order: tuple[int, ...]) -> None:
    """Whatever comes first, with a refresh after each request: the figures are those of the spans alone."""
    case = f"order {order}"

    def told(of: str) -> list[dict[str, Any]]:
        return [{name: held for name, held in row.items() if name not in IDS} for row in seen.tasks[of]]

    assert told(case) == told("spans")
    assert seen.buckets[case] == seen.buckets["spans"]
    assert totals(seen, "spans") == [2420, 1680]


def test_a_call_that_spans_do_not_tell_counts_from_its_log(seen: Seen) -> None:
    """Ids decide call by call: the second prompt had no spans, so its events are a task."""
    told = figures(seen, "a lost turn", "llm_calls", "llm_attempts", "total_tokens")
    assert told == [(2, 2, 2420), (1, 3, 1680)]


@pytest.mark.parametrize("case", ID_PAIRS)
def test_ids_that_cannot_be_compared_double_nothing(seen: Seen, case: str) -> None:
    """Where one side has no id the run decides; ids of two kinds are one call if tokens and time agree."""
    assert figures(seen, case, "llm_calls", "total_tokens") == [(1, 1050)]


def test_spans_speak_for_their_own_session_alone(seen: Seen) -> None:
    """Events of another session count, although the spans of the first tell usage."""
    assert sorted(totals(seen, "another session")) == [111, 2420]


def test_the_session_may_stand_on_another_span_of_the_trace(seen: Seen) -> None:
    """A call span without a session is of the session that its trace names."""
    assert totals(seen, "session on the root") == [1050]


def test_sub_agents_and_side_jobs_are_threads_of_their_own(seen: Seen) -> None:
    """The answer is the main line's last call, and a sub-agent's prompt resends nothing of it."""
    (buckets,) = seen.buckets["sub-agent"]
    tokens = {bucket: held for bucket, held, _ in buckets}
    assert figures(seen, "sub-agent", "single_pass_tokens", "total_tokens") == [(1000 + 70, 4434)]
    assert (tokens["answer"], tokens["resent_context"], tokens["fresh_later"]) == (70, 1050, 250 + 900 + 1100)


def test_codex_events_make_a_task_with_its_failed_try(seen: Seen) -> None:
    """Text numbers are read, the try that failed is a retry, the tool call is a step."""
    assert figures(seen, "codex logs", "llm_calls", "llm_attempts", "tool_calls") == [(1, 2, 1)]
    assert figures(seen, "codex logs", "input_tokens", "cache_read_tokens", "total_tokens") == [
        (500, 400, 560)
    ]


@pytest.mark.parametrize(("case", "tool_calls"), [("codex linked", 1), ("codex both", 0)])
def test_tools_that_only_logs_tell_complete_the_task_of_spans(seen: Seen, case: str, tool_calls: int) -> None:
    """The trace that the records name joins them to it; without one no task of tools alone is made."""
    told = figures(seen, case, "llm_calls", "tool_calls", "total_tokens")
    assert told == [(1, tool_calls, 560)]


def test_a_turn_s_sum_tells_its_logs_too(seen: Seen) -> None:
    """Where the call spans were lost, the roll-up that came counts, and the events are not added to it."""
    assert totals(seen, "codex turn") == [560]


def test_gemini_spans_win_over_logs_that_have_no_ids(seen: Seen) -> None:
    """Logs alone tell the thoughts as well; beside spans of the session they add nothing."""
    assert (totals(seen, "gemini logs"), totals(seen, "gemini both")) == ([325], [320])


def test_explain_says_that_a_span_told_the_call(seen: Seen) -> None:
    """A log row that was left out is still shown, with the reason."""
    verdicts = [row["verdict"] for row in seen.explained if row["name"] == "gemini_cli.api_response"]
    assert sorted(verdicts) == ["counted", "told_by_span"]


def test_tokens_of_told_logs_are_listed_as_a_double(seen: Seen) -> None:
    """What a plain sum over both signals would have added is shown, with its reason."""
    reasons = {row["reason"] for row in seen.doubles if row["is_corrected"]}
    assert "a span of the same run tells this call" in reasons


def test_what_a_call_without_a_duration_cost_on_own_cards_is_unknown(tmp_path: Path) -> None:
    """It has no length: neither zero seconds nor zero dollars are made of that."""
    gpus = Gpus(sku="H100-SXM", count=1, usd_per_gpu_hour=Decimal("3.6"))
    own = Deployment(name="own", models=["gpt-5-codex"], gpus=gpus)
    with store(tmp_path, Settings(deployments=[own])) as warehouse:
        warehouse.load(decode_block([logs_of(CODEX_LOGS, "codex_cli_rs")], OPTIONS))
        warehouse.refresh(LATER_NS)
        (task,) = warehouse.report("tasks").to_pylist()
        steps = {
            row["name"]: row for row in warehouse.report("task_steps").to_pylist() if row["attempt"] == 2
        }
        assert warehouse.check_laws() == []
    answer = steps["codex.sse_event"]
    assert (answer["paid_by"], answer["duration_s"], answer["cost_usd"]) == ("gpu", None, None)
    assert task["gpu_known_ratio"] < 1
