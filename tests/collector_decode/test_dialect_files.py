"""The dialect files themselves: everything in them means something."""

import pytest

from collector.decode.fields import FIELDS
from collector.decode.numbers import NS_PER_UNIT
from collector.decode.testing import decode_span
from collector.decode.values import READERS
from collector.dialects.read import Dialect, dialects, words

PARTS = {"input", "output", "arguments", "result", "definitions"}
ROLES = {
    "llm", "tool", "retrieval", "embedding", "agent", "wrapper", "gateway", "server", "attempt", "transport",
    "inner", "noise", "other",
}  # fmt: skip
ROLLUPS = {None, "sum", "last", "cumulative", "copy"}


@pytest.mark.parametrize("dialect", dialects(), ids=lambda dialect: dialect.id)
def test_a_dialect_names_only_what_is_known(dialect: Dialect) -> None:
    """Fields, content parts, readers, units, roles and roll-up meanings are words that decode reads."""
    entries = [
        entry for held in (dialect.fields, dialect.content) for part in held.values() for entry in part
    ]
    assert set(dialect.fields) <= set(FIELDS)
    assert set(dialect.content) <= PARTS
    assert {entry.reader for entry in entries} <= READERS
    assert {entry.unit for entry in entries} <= {*NS_PER_UNIT, "instant"}
    assert {role for entry in entries for role in entry.on} <= ROLES
    assert {rule.role for rule in dialect.roles} | {dialect.default_role} <= ROLES
    assert {rule.rollup for rule in dialect.roles} <= ROLLUPS


def test_detection_has_one_order_that_ends_with_unknown() -> None:
    """No two dialects share a place in the order, and the last one takes every span."""
    orders = [dialect.order for dialect in dialects()]
    assert orders == sorted(set(orders))
    assert (dialects()[-1].id, dialects()[-1].detect) == ("unknown", ({},))


def test_finish_reasons_map_to_five_words() -> None:
    """What is mapped is mapped to a word that the warehouse knows."""
    assert set(words().finish_reasons.values()) == {"stop", "length", "tool_calls", "content_filter", "error"}


@pytest.mark.parametrize(
    ("sent", "meant"),
    [
        (["tool_use"], "tool_calls"),
        ('["tool_call"]', "tool_calls"),
        ("FinishReason.STOP", "stop"),
        ("FinishReason.LENGTH,FinishReason.STOP", "length"),
        ("tool-calls", "tool_calls"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("pause_turn", "pause_turn"),
        ("a whole sentence, which may be content", None),
    ],
)
def test_finish_reasons_of_all_libraries_are_read(sent: object, meant: str | None) -> None:
    """Lists, JSON lists, enum texts and comma-joined words come to one word; a sentence comes to none."""
    row = decode_span({"gen_ai.operation.name": "chat", "gen_ai.response.finish_reasons": sent})
    assert row["finish_reason"] == meant


@pytest.mark.parametrize("framework", ["strands-agents", "gcp.vertex.agent", "langchain", "CrewAI"])
def test_a_framework_is_no_provider(framework: str) -> None:
    """The name of a framework where the provider should be is null, for no price is the framework's."""
    assert decode_span({"gen_ai.operation.name": "chat", "gen_ai.system": framework})["provider"] is None


@pytest.mark.parametrize(
    ("attributes", "address"),
    [
        ({"server.address": "10.0.3.7", "server.port": 8000}, ("10.0.3.7", 8000)),
        ({"server.address": "https://user:secret@llm.internal:8443/v1?x=1"}, ("llm.internal", 8443)),
        ({"server.address": "https://llm.internal/v1"}, ("llm.internal", None)),
        ({"server.address": "[2001:db8::1]:8000"}, ("[2001:db8::1]", 8000)),
    ],
)
def test_an_address_is_a_host_and_perhaps_a_port(
    attributes: dict[str, object], address: tuple[str, int]
) -> None:
    """URLs lose scheme, credentials and path; a port that nobody named is not made up."""
    row = decode_span({"gen_ai.operation.name": "chat", **attributes})
    assert (row["server_address"], row["server_port"]) == address


def test_explicit_attributes_are_read_in_every_dialect() -> None:
    """Deployment, replica and task type may stand on the span or the resource, whoever wrote it."""
    given = {"taximeter.deployment": "qwen", "taximeter.replica": "2", "taximeter.task_type": "refund"}
    meant = {"deployment": "qwen", "replica": "2", "task_type": "refund"}
    for mark in ({}, {"openinference.span.kind": "LLM"}, {"gen_ai.operation.name": "chat"}):
        for row in (decode_span({**mark, **given}), decode_span(mark, resource=given)):
            assert {key: row[key] for key in meant} == meant


def test_a_tool_name_on_a_chat_span_makes_no_tool() -> None:
    """OpenLIT puts the asked tool's name on the chat span: it stays a model call without a tool name."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.tool.name": "restart", "gen_ai.tool.call.id": "c1"}
    row = decode_span(attributes, scope="openlit.instrumentation.openai")
    assert (row["role"], row["tool_name"], row["tool_call_id"]) == ("llm", None, None)


def test_an_answer_that_asks_for_a_tool_says_so() -> None:
    """By its finish reason, by the calls in its output where stop proves nothing, else nobody knows."""
    chat = {"gen_ai.operation.name": "chat"}
    assert decode_span({**chat, "gen_ai.response.finish_reasons": ["tool_use"]})["asked_tool"] is True
    assert decode_span({**chat, "gen_ai.response.finish_reasons": ["stop"]})["asked_tool"] is False
    assert decode_span(chat)["asked_tool"] is None
    adk = {"gen_ai.response.finish_reasons": ["stop"]}
    call = '{"content":{"parts":[{"function_call":{"name":"f","args":{}}}]}}'
    text = '{"content":{"parts":[{"text":"done"}]}}'
    for response, asked in ((call, True), (text, False), ("{}", None)):
        attributes = {**adk, "gcp.vertex.agent.llm_response": response}
        row = decode_span(attributes, name="call_llm", scope="gcp.vertex.agent", version="2.0")
        assert row["asked_tool"] is asked
