"""Logs of single calls: aider's events and LiteLLM's spend rows keep what they say, and claim no more."""

import csv
import io
import json
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import ManualClock
from taximeter.layout import DataFolder

Read = Callable[[Any], tuple[str | None, list[Any], list[Any]]]
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
SECOND = 1_000_000_000
START_S = 1_764_576_000


def _event(event: str, second: int, user: str = "u", **properties: Any) -> dict[str, Any]:
    return {"event": event, "properties": properties, "user_id": user, "time": START_S + second}


def _sent(second: int, cost: float, total: float, user: str = "u", tokens: int = 100) -> dict[str, Any]:
    figures = {"prompt_tokens": tokens, "completion_tokens": 7, "total_tokens": tokens + 7}
    return _event("message_send", second, user, main_model="gpt-4o", cost=cost, total_cost=total, **figures)


def test_a_sent_message_is_a_call_with_its_cost(read_file: Read) -> None:
    """Model, tokens and cost are the event's own; other events are no calls."""
    format_, spans, bad = read_file([_event("launched", 0), _sent(9, 0.25, 0.25), _event("exit", 10)])

    (call,) = spans
    assert (format_, bad) == ("aider-log", [])
    assert {
        name: call.attributes[f"properties.{name}"] for name in ("main_model", "prompt_tokens", "cost")
    } == {
        "main_model": "gpt-4o",
        "prompt_tokens": 100,
        "cost": 0.25,
    }
    assert call.end_ns == (START_S + 9) * SECOND


def test_a_start_counts_only_directly_before_its_call(read_file: Read) -> None:
    """Where another event stands between, the start may be another process's, and the length is unknown."""
    _, spans, _ = read_file(
        [
            _event("message_send_starting", 0),
            _sent(5, 0.1, 0.1),
            _event("message_send_starting", 10),
            _event("launched", 11),
            _sent(12, 0.1, 0.2),
            _event("message_send_starting", 20, "other"),
            _sent(25, 0.1, 0.3),
        ]
    )

    assert [(span.end_ns - span.start_ns) // SECOND for span in spans] == [5, 0, 0]


def test_processes_are_told_apart_by_their_running_totals(read_file: Read) -> None:
    """A call belongs to the process whose total it continues; where nothing tells, there is no session."""
    _, spans, _ = read_file(
        [
            _sent(1, 0.1, 0.1),
            _sent(2, 0.3, 0.3),
            _sent(3, 0.2, 0.1 + 0.2),
            _sent(4, 0.5, 0.8),
            _sent(5, 0.0, 0.0),
            _sent(6, 0.2, 0.5, "other"),
        ]
    )

    sessions = [span.attributes.get("session_id") for span in spans]
    assert sessions[0] == sessions[2]
    assert sessions[4] is None
    assert len({sessions[0], sessions[1], sessions[5]}) == 3
    assert sessions[3] in sessions[:2]


def test_a_cost_that_aider_could_not_work_out_is_unknown(read_file: Read) -> None:
    """A 0 beside tokens is left out; a 0 for no tokens is a 0."""
    nothing = _sent(2, 0.0, 0.0)
    nothing["properties"] |= {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}

    _, spans, _ = read_file([_sent(1, 0.0, 0.0), nothing])

    assert [span.attributes.get("properties.cost") for span in spans] == [None, 0.0]


def test_equal_events_are_calls_of_their_own_and_read_twice_the_same(read_file: Read) -> None:
    """Two events with one content are two calls, and a log that holds the same two has the same ids."""
    log = [_sent(1, 0.1, 0.1), _sent(1, 0.1, 0.1)]

    ids = [
        {span.span_id for span in read_file([*before, *log])[1]} for before in ([], [_event("launched", 0)])
    ]

    assert ids[0] == ids[1]
    assert len(ids[0]) == 2


def _row(request_id: str, **changes: Any) -> dict[str, Any]:
    return {
        "request_id": request_id,
        "call_type": "acompletion",
        "spend": 0.0125,
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "startTime": "2025-12-01T08:00:00.000000Z",
        "endTime": "2025-12-01T08:00:02.500000Z",
        "completionStartTime": "2025-12-01T08:00:00.500000Z",
        "model": "gpt-4o-2024-08-06",
        "model_group": "gpt-4o",
        "custom_llm_provider": "openai",
        "api_base": "http://10.0.3.7:8000/v1",
        "session_id": "s1",
        "cache_hit": "False",
        "status": "success",
        "metadata": {},
        **changes,
    }


def _as_csv(*rows: dict[str, Any]) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, rows[0].keys())
    writer.writeheader()
    for row in rows:
        told = {name: json.dumps(value) if isinstance(value, dict) else value for name, value in row.items()}
        writer.writerow(told)
    return out.getvalue()


@pytest.mark.parametrize(
    ("write", "format_"),
    [
        (json.dumps, "litellm-spend-json"),
        (lambda rows: json.dumps({"data": rows, "total": 2}, indent=1), "litellm-spend-json"),
        (lambda rows: json.dumps(rows, indent=1), "litellm-spend-json"),
        (lambda rows: "\n".join(map(json.dumps, rows)), "litellm-spend-json"),
        (lambda rows: _as_csv(*rows), "litellm-spend-csv"),
    ],
)
def test_spend_rows_say_the_same_in_every_form(read_file: Read, write: Any, format_: str) -> None:
    """An array, lines, an answer of the API and CSV give equal spans."""
    usage = {"usage_object": {"prompt_tokens_details": {"cached_tokens": 600}}}
    rows = [_row("r1", metadata=usage), _row("r2", session_id="s2")]

    found, spans, bad = read_file(write(rows))

    first, second = spans
    assert (found, bad) == (format_, [])
    assert (first.end_ns - first.start_ns, first.start_ns) == (2_500_000_000, START_S * SECOND)
    assert first.trace_id != second.trace_id
    assert first.attributes | {"ttft": None} == {
        "request_id": "r1",
        "record": "call",
        "call_type": "acompletion",
        "model": "gpt-4o-2024-08-06",
        "model_group": "gpt-4o",
        "custom_llm_provider": "openai",
        "session_id": "s1",
        "prompt_tokens": 1000,
        "completion_tokens": 50,
        "total_tokens": 1050,
        "metadata.usage_object.prompt_tokens_details.cached_tokens": 600,
        "spend": 0.0125,
        "cache_hit": False,
        "completionStartTime": "2025-12-01T08:00:00.500000Z",
        "server.address": "10.0.3.7",
        "server.port": 8000,
        "ttft": None,
    }


def test_rows_of_one_trace_are_one_task(read_file: Read) -> None:
    """A trace id joins rows before the session does; a row with neither stands alone."""
    traced = {"metadata": {"trace_id": "t"}}

    _, spans, _ = read_file(
        [
            _row("r1", **traced),
            _row("r2", session_id="s2", **traced),
            _row("r3", session_id="s2"),
            _row("r4", session_id=""),
            _row("r5", session_id=None),
        ]
    )

    ids = [span.trace_id for span in spans]
    assert ids[0] == ids[1]
    assert len(set(ids)) == 4


def test_what_litellm_does_not_know_is_unknown(read_file: Read) -> None:
    """A failed call has no usage and no cost, an unpriced one no cost; a cached answer did cost nothing."""
    nothing = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0, "spend": 0.0}
    failure = {"status": "failure", "metadata": {"error_information": {"error_class": "RateLimitError"}}}

    _, spans, _ = read_file(
        [_row("r1", **nothing, **failure), _row("r2", spend=0), _row("r3", spend=0, cache_hit="True")]
    )

    told = [tuple(span.attributes.get(key) for key in ("prompt_tokens", "spend")) for span in spans]
    assert told == [(None, None), (1000, None), (1000, 0)]
    assert (spans[0].failed, spans[0].attributes["error_type"]) == (True, "RateLimitError")


def test_a_row_without_id_or_time_is_told_and_passed_over(read_file: Read) -> None:
    """One bad row costs itself alone."""
    _, spans, bad = read_file([_row("r1"), _row("r2", startTime="soon"), _row("r3")])

    assert [span.attributes["request_id"] for span in spans] == ["r1", "r3"]
    assert [(item.where, item.reason) for item in bad] == [("line 2", "a spend row without id or time")]


def test_rows_before_the_cut_go_in(tmp_path: Path) -> None:
    """An array that breaks off in a row is broken, and gives the rows before it."""
    text = json.dumps([_row(f"r{number}") for number in range(9)], indent=1)
    path = tmp_path / "spend.json"
    path.write_text(text[: len(text) - 50])
    data = DataFolder(tmp_path / "data").make()

    (result,) = import_paths([path], data, OPTIONS, ManualClock(0), lambda *_: None).files

    assert (result.outcome, result.rows["spans"]) == ("broken", 8)


def test_times_of_the_table_are_utc(read_file: Read) -> None:
    """A time without a zone, as an export of the table writes it, is UTC."""
    _, spans, _ = read_file([_row("r1", startTime="2025-12-01 08:00:00.123")])

    assert spans[0].start_ns == START_S * SECOND + 123_000_000


def test_our_money_stands_beside_the_rows_own(warehouse_of: Any, tmp_path: Path) -> None:
    """Cached tokens are inside the prompt; the spend is kept as reported, whatever we make of it."""
    usage = {"usage_object": {"prompt_tokens_details": {"cached_tokens": 600}}}
    path = tmp_path / "spend.csv"
    path.write_text(_as_csv(_row("r1", metadata=usage)))

    with warehouse_of(path) as warehouse:
        figures = "input_tokens, cache_read_tokens, output_tokens, reported_cost_usd, token_cost_usd"
        (task,) = warehouse.sql(f"select {figures} from tasks")  # noqa: S608 - literal
        assert task == (1000, 600, 50, Decimal("0.0125"), Decimal("0.00225"))
        assert warehouse.check_laws() == []


def test_an_embedding_and_a_tool_are_what_they_are(warehouse_of: Any, tmp_path: Path) -> None:
    """The call type decides the kind of step."""
    path = tmp_path / "spend.json"
    rows = [
        _row("r1", call_type="aembedding", model="text-embedding-3-small", model_group=""),
        _row("r2", call_type="call_mcp_tool", mcp_namespaced_tool_name="docs/search"),
    ]
    path.write_text(json.dumps(rows))

    with warehouse_of(path) as warehouse:
        assert sorted(warehouse.sql("select kind, name from steps")) == [
            ("embedding", "aembedding text-embedding-3-small"),
            ("tool", "call_mcp_tool docs/search"),
        ]
