"""No text of a prompt stays anywhere in the data folder after the load."""

import json
import time
from pathlib import Path

import httpx

from taximeter.testing import programs

SECRET = "zanzibar-quartz-4711"
CONTENT_KEYS = (
    "gen_ai.input.messages",
    "gen_ai.output.messages",
    "gen_ai.system_instructions",
    "gen_ai.tool.definitions",
    "gen_ai.tool.call.arguments",
    "gen_ai.tool.call.result",
    "gen_ai.prompt",
    "gen_ai.completion",
    "input.value",
    "output.value",
    "llm.input_messages.0.message.content",
    "traceloop.entity.input",
    "gcp.vertex.agent.llm_request",
    "user_prompt",
    "an.attribute.nobody.knows",
)


def text_attribute(key: str) -> dict[str, object]:
    return {"key": key, "value": {"stringValue": json.dumps([{"role": "user", "content": SECRET}])}}


def trace_document() -> dict[str, object]:
    span = {
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
        "name": "chat gpt-5-mini",
        "kind": 3,
        "startTimeUnixNano": "1790000000000000000",
        "endTimeUnixNano": "1790000001000000000",
        "attributes": [
            {"key": "gen_ai.operation.name", "value": {"stringValue": "chat"}},
            {"key": "gen_ai.request.model", "value": {"stringValue": "gpt-5-mini"}},
            {"key": "gen_ai.usage.input_tokens", "value": {"intValue": "12"}},
            {"key": "gen_ai.usage.output_tokens", "value": {"intValue": "3"}},
            *map(text_attribute, CONTENT_KEYS),
        ],
        "events": [
            {
                "name": "gen_ai.user.message",
                "timeUnixNano": "1790000000000000000",
                "attributes": [text_attribute("content")],
            },
            {
                "name": "exception",
                "timeUnixNano": "1790000000000000000",
                "attributes": [text_attribute("exception.message")],
            },
        ],
        "status": {"code": 2, "message": f"failed on {SECRET}"},
    }
    return {"resourceSpans": [{"scopeSpans": [{"scope": {"name": "s"}, "spans": [span]}]}]}


def log_document() -> dict[str, object]:
    record = {
        "timeUnixNano": "1790000000000000000",
        "body": {"stringValue": SECRET},
        "attributes": [text_attribute("prompt")],
        "traceId": "5b8efff798038103d269b633813fc60c",
        "spanId": "eee19b7ec3c1b174",
    }
    return {"resourceLogs": [{"scopeLogs": [{"scope": {"name": "s"}, "logRecords": [record]}]}]}


def holders(folder: Path) -> list[str]:
    """List the files that hold the planted text."""
    return [
        str(path) for path in folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()
    ]


def test_a_planted_prompt_is_nowhere_after_the_load(tmp_path: Path) -> None:
    """Attributes, events, status messages and log bodies: none of their text is on disk once loaded."""
    with programs(tmp_path / "data") as running:
        running.start("collector")
        running.start("warehouse")
        for signal, document in (("traces", trace_document()), ("logs", log_document())):
            answer = httpx.post(f"{running.otlp_url}/v1/{signal}", json=document)
            assert answer.status_code == 200, answer.text
        running.wait_until(lambda: len(running.report("tasks")) == 1, 60)
        (task,) = running.report("tasks")
        running.wait_until(lambda: not holders(tmp_path), 60)
        time.sleep(0.5)

        assert holders(tmp_path) == []
        assert (task["input_tokens"], task["output_tokens"]) == (12, 3)
