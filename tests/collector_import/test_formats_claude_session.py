"""Claude Code session logs: one call is several lines, one prompt is one task, sub-agents stand apart."""

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from collector.decode import DecodeOptions
from collector.importing import import_paths
from taximeter.clock import ManualClock
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder

Read = Callable[[Any], tuple[str | None, list[Any], list[Any]]]
OPTIONS = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
SECOND = 1_000_000_000
START = 1_764_576_000 * SECOND  # 2025-12-01T08:00:00Z


def _line(second: float, uuid: str, kind: str, message: dict[str, Any], **more: Any) -> dict[str, Any]:
    minute, rest = divmod(second, 60)
    return {
        "type": kind,
        "uuid": uuid,
        "parentUuid": more.pop("parent", None),
        "sessionId": "session",
        "isSidechain": more.pop("side", False),
        "timestamp": f"2025-12-01T08:{int(minute):02d}:{rest:06.3f}Z",
        "message": message,
        **more,
    }


def _user(second: float, uuid: str, content: Any, **more: Any) -> dict[str, Any]:
    return _line(second, uuid, "user", {"role": "user", "content": content}, **more)


def _answer(second: float, uuid: str, id_: str, *blocks: Any, **more: Any) -> dict[str, Any]:
    usage = more.pop("usage", {"input_tokens": 10, "output_tokens": 3})
    model = more.pop("model", "claude-sonnet-4-5")
    message = {"id": id_, "model": model, "usage": usage, "content": list(blocks), "stop_reason": None}
    message |= more.pop("message", {})
    return _line(second, uuid, "assistant", message, **more)


def _use(id_: str, name: str = "Bash", **held: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id_, "name": name, "input": held or {"command": "ls"}}


def _result(id_: str, content: str = "fine", **more: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": id_, "content": content, **more}


def _text(text: str = "so") -> dict[str, Any]:
    return {"type": "text", "text": text}


def _records(spans: list[Any], record: str) -> list[Any]:
    return [span for span in spans if span.attributes["record"] == record]


def test_lines_of_one_message_are_one_call_with_the_largest_figures(read_file: Read) -> None:
    """Usage that is repeated on every line of a call, and grows, counts once, each figure at its largest."""
    usage = {"input_tokens": 4, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 50}
    hour = {"cache_creation": {"ephemeral_1h_input_tokens": 20, "ephemeral_5m_input_tokens": 30}}

    format_, spans, bad = read_file(
        [
            _user(0, "u", "do it"),
            _answer(5, "a", "m1", _text(), usage={**usage, "output_tokens": 2}),
            _answer(7, "b", "m1", _use("t"), usage={**usage, **hour, "output_tokens": 90}),
        ]
    )

    (call,) = _records(spans, "call")
    assert (format_, bad) == ("claude-code-session", [])
    assert {name: value for name, value in call.attributes.items() if ".usage." in name} == {
        "message.usage.input_tokens": 4,
        "message.usage.cache_read_input_tokens": 100,
        "message.usage.cache_creation_input_tokens": 50,
        "message.usage.cache_creation.ephemeral_1h_input_tokens": 20,
        "message.usage.output_tokens": 90,
    }


def test_a_call_lasts_from_the_line_before_to_its_last_line(read_file: Read) -> None:
    """Lines are put in the order of their times first; the line before may be a prompt or a tool's result."""
    _, spans, _ = read_file(
        [
            _answer(9, "b", "m2", _text()),
            _user(0, "u", "do it"),
            _answer(2, "a", "m1", _use("t")),
            _user(4.5, "r", [_result("t")]),
            _answer(11, "c", "m2", _text("end")),
        ]
    )

    assert [(call.start_ns - START, call.end_ns - START) for call in _records(spans, "call")] == [
        (0, 2 * SECOND),
        (4_500_000_000, 11 * SECOND),
    ]


def test_a_tool_lasts_from_its_use_to_its_result(read_file: Read) -> None:
    """Name, id, error flag and times come from the two lines; one never answered failed and has no length."""
    _, spans, _ = read_file(
        [
            _user(0, "u", "do it"),
            _answer(2, "a", "m1", _use("t1"), _use("t2", "Read", path="x"), _use("t3")),
            _user(3, "r", [_result("t2", is_error=True)]),
            _user(4, "s", [_result("t1")]),
        ]
    )

    tools = {span.attributes["tool_use.id"]: span for span in _records(spans, "tool")}
    assert {key: (tool.end_ns - tool.start_ns, tool.failed) for key, tool in tools.items()} == {
        "t1": (2 * SECOND, False),
        "t2": (SECOND, True),
        "t3": (0, True),
    }
    assert tools["t2"].attributes["tool_use.name"] == "Read"


def test_every_prompt_is_a_task_of_its_own(read_file: Read) -> None:
    """A prompt starts a trace; what the program writes as the person, and results of tools, start none."""
    _, spans, _ = read_file(
        [
            _user(0, "u", "first"),
            _answer(1, "a", "m1", _use("t")),
            _user(2, "r", [_result("t")]),
            _user(3, "i", "[Request interrupted by user]"),
            _user(4, "m", "a reminder", isMeta=True),
            _answer(5, "b", "m2", _text()),
            _user(60, "v", [_text("second")]),
            _answer(61, "c", "m3", _text()),
            _user(70, "w", "never answered"),
        ]
    )

    calls = {span.attributes["message.id"]: span.trace_id for span in _records(spans, "call")}
    assert calls["m1"] == calls["m2"] != calls["m3"]
    assert len(_records(spans, "agent")) == len({span.trace_id for span in spans}) == 2
    assert {span.attributes["sessionId"] for span in spans} == {"session"}


def test_synthetic_answers_cost_nothing(read_file: Read) -> None:
    """What the program wrote in the model's place is no call."""
    _, spans, _ = read_file(
        [
            _user(0, "u", "do it"),
            _answer(1, "a", "m1", _text()),
            _answer(2, "b", "m2", _text("API Error"), model="<synthetic>"),
        ]
    )

    assert [span.attributes["message.id"] for span in _records(spans, "call")] == ["m1"]


def _with_sub_agents() -> list[dict[str, Any]]:
    return [
        _user(0, "u", "do it"),
        _answer(
            2,
            "a",
            "m1",
            _use("t1", "Task", prompt="look here", subagent_type="finder"),
            _use("t2", "Task", prompt="look there", subagent_type="reader"),
        ),
        _user(3, "s1", "look there", side=True),
        _user(3, "s2", "look here", side=True),
        _answer(5, "s3", "m2", _use("t3"), side=True, parent="s1"),
        _answer(6, "s4", "m3", _text(), side=True, parent="s2"),
        _user(7, "s5", [_result("t3")], side=True, parent="s3"),
        _answer(9, "s6", "m4", _text(), side=True, parent="s5"),
        _user(10, "r", [_result("t1"), _result("t2")]),
        _answer(12, "b", "m5", _text()),
    ]


def test_sub_agents_stand_below_the_tool_use_that_started_them(read_file: Read) -> None:
    """Two side chains at once are two agents, each with its own calls, found by the prompt they got."""
    _, spans, _ = read_file(_with_sub_agents())

    ids = {span.span_id: span for span in spans}
    above = {
        call.attributes["message.id"]: ids[call.parent_id].attributes["agent.name"]
        for call in _records(spans, "call")
    }
    agents = {span.attributes["agent.name"]: span for span in _records(spans, "agent")}
    assert above == {"m1": "claude-code", "m2": "reader", "m3": "finder", "m4": "reader", "m5": "claude-code"}
    assert ids[agents["finder"].parent_id].attributes["tool_use.id"] == "t1"
    assert ids[agents["reader"].parent_id].attributes["tool_use.id"] == "t2"
    assert len({span.trace_id for span in spans}) == 1


def test_equal_prompts_start_an_agent_each(read_file: Read) -> None:
    """Two uses with one prompt started the two side chains that got it, not one of them both."""
    log = _with_sub_agents()
    for block in log[1]["message"]["content"]:
        block["input"]["prompt"] = "look"
    log[2]["message"]["content"] = log[3]["message"]["content"] = "look"

    _, spans, _ = read_file(log)

    agents = [span for span in _records(spans, "agent") if span.parent_id]
    assert len({agent.parent_id for agent in agents}) == len(agents) == 2


def test_lines_of_another_agent_are_not_before_a_call(read_file: Read) -> None:
    """The line before a call is one of its own thread: agents that run at once do not shorten each other."""
    _, spans, _ = read_file(_with_sub_agents())

    starts = {c.attributes["message.id"]: (c.start_ns - START) // SECOND for c in _records(spans, "call")}
    assert starts == {"m1": 0, "m2": 3, "m3": 3, "m4": 7, "m5": 10}


def test_a_sub_agent_in_a_file_of_its_own_is_read_too(read_file: Read) -> None:
    """A log that holds side lines alone gives its calls and tokens, under its agent."""
    _, spans, _ = read_file(
        [
            _user(0, "u", "look", side=True, agentId="ab12"),
            _answer(1, "a", "m1", _text(), side=True, agentId="ab12", parent="u"),
        ]
    )

    (call,) = _records(spans, "call")
    (agent,) = _records(spans, "agent")
    assert (call.parent_id, agent.parent_id) == (agent.span_id, "")
    assert agent.attributes["agentId"] == "ab12"


def test_a_resumed_session_repeats_nothing(read_file: Read) -> None:
    """Lines that a later log holds again, under another session and with more after, are the same spans."""
    first = [_user(0, "u", "do it"), _answer(1, "a", "m1", _use("t")), _user(2, "r", [_result("t")])]
    again = [{**line, "uuid": line["uuid"] + "2", "sessionId": "later"} for line in first]

    _, before, _ = read_file(first)
    _, after, _ = read_file([*again, _answer(4, "b", "m2", _text())])

    def key(span: Any) -> tuple[str, str, int]:
        return span.trace_id, span.span_id, span.start_ns

    assert {key(span) for span in before} < {key(span) for span in after}
    assert len(after) == len(before) + 1


def test_a_line_twice_in_one_log_counts_once(read_file: Read) -> None:
    """A log that was appended to itself has no second tool uses."""
    log = [_user(0, "u", "do it"), _answer(1, "a", "m1", _use("t")), _user(2, "r", [_result("t")])]

    assert len(read_file([*log, *log])[1]) == len(read_file(log)[1]) == 3


def test_what_is_no_message_is_passed_over_and_bad_lines_are_told(read_file: Read) -> None:
    """Summaries are no messages; a cut line and a message without a time are bad, the rest goes in."""
    good = [_user(0, "u", "do it"), _answer(1, "a", "m1", _text())]
    late = {**good[1], "uuid": "x", "timestamp": "soon"}
    log = [{"type": "summary", "summary": "s", "leafUuid": "a"}, *good, late]

    _, spans, bad = read_file("\n".join([*map(json.dumps, log), '{"type": "assist']))

    assert len(spans) == 2
    assert [item.where for item in bad] == ["line 5", "line 4"]


def test_the_log_is_known_by_its_keys_compressed_or_not(read_file: Read, tmp_path: Path) -> None:
    """A gzip log under any name is read as a session; JSON lines of other things are not."""
    text = "\n".join(json.dumps(line) for line in _with_sub_agents())
    (tmp_path / "log").write_bytes(gzip.compress(text.encode()))

    assert read_file(tmp_path / "log")[0] == "claude-code-session"
    assert (
        read_file([{"type": "user", "message": {"content": "hello"}, "timestamp": "2025-12-01"}])[0] is None
    )


def test_a_log_cut_in_its_first_line_is_a_broken_session(read_file: Read) -> None:
    """What begins as a session and breaks off at once is told as cut, not as something else."""
    text = json.dumps({"parentUuid": None, "isSidechain": False, "sessionId": "s", "message": "x" * 99})

    with pytest.raises(BadInputError, match="the file is cut"):
        read_file(text[:100])


@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_compressed_log_that_is_cut_keeps_what_was_whole(tmp_path: Path, share: float) -> None:
    """Of a damaged log the lines before the damage go in, and the file is broken."""
    log = [_user(0, "u", "do it")]
    log += [_answer(n, f"a{n}", f"m{n}", _text(os.urandom(60).hex())) for n in range(1, 1500)]
    packed = gzip.compress("\n".join(json.dumps(line) for line in log).encode())
    path = tmp_path / "log.jsonl.gz"
    path.write_bytes(packed[: int(len(packed) * share)])

    summary = import_paths(
        [path], DataFolder(tmp_path / "data").make(), OPTIONS, ManualClock(START), lambda *_: None
    )

    (result,) = summary.files
    assert (result.outcome, result.format) == ("broken", "claude-code-session")
    assert 1500 * share * 0.7 < result.rows["spans"] < 1500


def test_output_figures_that_cannot_be_the_whole_are_told(tmp_path: Path) -> None:
    """A figure far too small for the answer's text, of a call whose end was never logged, is told."""
    log = [
        _user(0, "u", "do it"),
        _answer(1, "a", "m1", _text("word " * 40), usage={"input_tokens": 1, "output_tokens": 2}),
        _answer(2, "b", "m2", _text("word " * 40), usage={"input_tokens": 1, "output_tokens": 41}),
        _answer(3, "c", "m3", _text("word " * 40), message={"stop_reason": "end_turn"}),
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in log))

    summary = import_paths(
        [path], DataFolder(tmp_path / "data").make(), OPTIONS, ManualClock(START), lambda *_: None
    )

    (reason,) = summary.files[0].reasons
    assert "first chunk's output tokens of 1 of 3 calls" in reason
    assert (summary.exit_status, summary.files[0].rows["spans"]) == (0, 4)


def test_sub_agents_are_threads_of_one_task(warehouse_of: Any, tmp_path: Path) -> None:
    """In the tables: one task, five calls on three threads, the cache inside the inputs, the last answer."""
    usage = {"input_tokens": 1, "cache_read_input_tokens": 8, "output_tokens": 2}
    log = _with_sub_agents()
    for line in log:
        if line["type"] == "assistant":
            line["message"]["usage"] = usage
    log[-1]["message"]["stop_reason"] = "end_turn"
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in log))

    with warehouse_of(path) as warehouse:
        (task,) = warehouse.sql("select llm_calls, tool_calls, input_tokens, single_pass_tokens from tasks")
        threads = warehouse.sql("select distinct thread from steps where thread is not null and kind = 'llm'")
        assert task == (5, 3, 45, 9 + 2)
        assert len(threads) == 3
        assert warehouse.check_laws() == []
