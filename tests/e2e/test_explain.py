"""Explaining a recording and a loaded trace: in words, on standard output alone."""

import json
from pathlib import Path

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.decode.testing import OPTIONS, START_NS, make_request, make_span
from collector.importing import import_paths
from taximeter import explain_command
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import BadInputError, NotFoundError
from taximeter.layout import DataFolder
from taximeter.testing import programs

CHAT = {
    "gen_ai.operation.name": "chat",
    "gen_ai.request.model": "claude-sonnet-4-5",
    "gen_ai.provider.name": "anthropic",
}
IN, OUT = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens"
TRACE = f"{1:032x}"


def write_recording(folder: Path) -> Path:
    """Write a request file with every kind of verdict that a newcomer asks about first."""
    cached = {
        "gen_ai.usage.cache_read.input_tokens": 128_955,
        "gen_ai.usage.cache_creation.input_tokens": 1_253,
    }
    tool = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": "planted words",
    }
    agent = {"gen_ai.operation.name": "invoke_agent", IN: 1, OUT: 1}
    payload = make_request(
        make_span(agent, name="invoke_agent", duration_ns=9_000_000_000),
        make_span(
            {**CHAT, **cached, IN: 5, OUT: 100}, name="chat", number=2, parent=1, start_ns=START_NS + 10**9
        ),
        make_span({**CHAT, IN: 5, OUT: 100}, name="twin", number=3, parent=2, start_ns=START_NS + 10**9 + 1),
        make_span(tool, name="search", number=4, parent=1, start_ns=START_NS + 3 * 10**9),
        make_span(
            {**CHAT, "gen_ai.request.model": "house-model", IN: -5, OUT: 7},
            name="chat house\x1b[31m",
            number=5,
            parent=99,
            start_ns=START_NS + 5 * 10**9,
        ),
    )
    request = ExportTraceServiceRequest.FromString(payload)
    file = folder / "run.pb"
    file.write_bytes(request.SerializeToString())
    return file


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    return write_recording(tmp_path)


def test_a_recording_is_explained_in_words(tmp_path: Path, recording: Path) -> None:
    """The command prints a tree that tells who read a span, which key gave what, and why it counts or not."""
    with programs(tmp_path / "data") as running:
        said = running.command("explain", str(recording))

    assert said.returncode == 0, said.stderr
    assert said.stdout.startswith("task "), "what the import has to say is no part of the answer"
    for words in (
        f"task {TRACE}  invoke_agent  (ok)",
        "- invoke_agent [agent · read by otel_genai · 9.0 s]",
        "Not counted: its tokens repeat what the calls it belongs to tell themselves.",
        "  - chat [llm · read by otel_genai · 1.0 s]",
        "Counted: this is the outermost view of one model call.",
        f"input_tokens 130,213 from {IN}",
        "the cached part was added, for the source's input leaves it out (proved by arithmetic)",
        "5 fresh input × $3 + 128,955 read from the cache × $0.3 + 1,253 written to the cache × $3.75 + ",
        "100 output × $15 per million = $0.045",
        "    - twin [llm",
        "Not counted: it shows again a model call that another span counts already.",
        "Counted as one tool call.",
        "refused: input_tokens -5 (negative)",
        "the span above it never came",
    ):
        assert words in said.stdout
    assert "\x1b" not in said.stdout
    assert "planted" not in said.stdout + said.stderr
    assert not (tmp_path / "data").exists(), "explaining a file must leave the user's data alone"


def test_a_loaded_trace_is_explained_by_its_id(
    tmp_path: Path, recording: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """An id in any case, with or without dashes, finds the task that holds the trace; another finds none."""
    data = tmp_path / "data"
    import_paths([recording], DataFolder(data).make(), OPTIONS, SYSTEM_CLOCK, lambda *_: None)
    spelled = "00000000-0000-0000-0000-000000000001"

    explain_command.run(spelled, output="text", url=None, config=None, data=data)
    assert capsysbinary.readouterr().out.decode().startswith(f"task {TRACE}  invoke_agent")
    explain_command.run(TRACE.upper(), output="json", url=None, config=None, data=data)
    assert [row["verdict"] for row in json.loads(capsysbinary.readouterr().out)] == [
        "repeats_parts",
        "counted",
        "view_of_call",
        "counted_tool",
        "counted",
    ]
    with pytest.raises(NotFoundError, match="is loaded"):
        explain_command.run("f" * 32, output="text", url=None, config=None, data=data)


@pytest.mark.parametrize("what", ["no-such-file.json", "4bf92f", "z" * 32])
def test_what_is_neither_file_nor_id_is_told(what: str) -> None:
    """A name that is no file and no trace id is refused with a line that says what would be one."""
    with pytest.raises(BadInputError, match="neither a file that is there nor a trace id"):
        explain_command.run(what, output="text", url=None, config=None, data=None)


def test_a_file_without_spans_explains_nothing(tmp_path: Path) -> None:
    """A file in which no span is found is told, and is no empty success."""
    file = tmp_path / "notes.txt"
    file.write_text("nothing here")

    with pytest.raises(NotFoundError, match="no span was found"):
        explain_command.run(str(file), output="text", url=None, config=None, data=None)
