"""`/metrics`: what was taken and refused, how much the journal holds, how long the oldest waits."""

from pathlib import Path

import httpx
from prometheus_client.parser import text_string_to_metric_families

from collector.decode.testing import make_request, make_span
from collector.edge.access import Grant
from collector.edge.testing import RunningEdges, running_edges
from taximeter.clock import NS_PER_S, ManualClock

BODY = make_request(make_span())
P = "taximeter_collector_"


def ask(edges: RunningEdges, path: str, body: bytes | None = None, **headers: str) -> tuple[int, str]:
    named = {"content-type": "application/x-protobuf", **headers}
    method = "GET" if body is None else "POST"
    url = edges.http_url + path
    answer = httpx.request(method, url, content=body, headers=named, timeout=10, trust_env=False)
    return answer.status_code, answer.text


def figures(edges: RunningEdges, **headers: str) -> dict[str, float]:
    status, page = ask(edges, "/metrics", **headers)
    assert status == 200
    return {
        sample.name.removeprefix(P) + "".join(sorted(f" {v}" for v in sample.labels.values())): sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if not sample.name.endswith(("_created", "_bucket"))
    }


def test_what_was_taken_and_what_was_refused_is_counted_by_reason(tmp_path: Path) -> None:
    """Two requests are taken, one is broken and one of a wrong type; nothing that was answered is dropped."""
    with running_edges(tmp_path) as edges:
        for body, kind in ((BODY, "application/x-protobuf"), (BODY, "application/x-protobuf"), (b"\xff", "")):
            ask(edges, "/v1/traces", body, **({"content-type": kind} if kind else {}))
        ask(edges, "/v1/logs", b"x", **{"content-type": "text/plain"})
        found = figures(edges)
    assert found["requests_total taken traces"] == 2
    assert found["requests_total malformed traces"] == 1
    assert found["requests_total logs wrong_type"] == 1
    assert found["taken_bytes_total traces"] == 2 * len(BODY)
    assert found["dropped_total"] == 0
    assert found["commit_seconds_count"] >= 1


def test_how_far_the_journal_is_and_how_long_the_oldest_waits(tmp_path: Path) -> None:
    """Bytes held, the last block of each stage, and the age of what nobody has loaded."""
    clock = ManualClock(1_000 * NS_PER_S)
    with running_edges(tmp_path, clock=clock) as edges:
        assert figures(edges)["oldest_unloaded_seconds"] == 0
        ask(edges, "/v1/traces", BODY)
        clock.sleep(7)
        waiting = figures(edges)
        (edges.folder.loaded / edges.journal.name).write_text("0\n")
        done = figures(edges)
    assert waiting["oldest_unloaded_seconds"] == 7
    assert waiting["journal_bytes"] > len(BODY)
    assert (waiting["journal_block durable"], waiting["journal_block loaded"]) == (0, -1)
    assert (done["oldest_unloaded_seconds"], done["journal_block loaded"]) == (0, 0)


def test_with_tokens_only_who_has_one_may_look(tmp_path: Path) -> None:
    """A token that may only read is enough; none, or an unknown one, is not."""
    grants = [Grant("w", "t", may_write=True), Grant("r", "t", may_write=False)]
    with running_edges(tmp_path, grants=grants) as edges:
        assert ask(edges, "/metrics")[0] == 401
        assert ask(edges, "/metrics", authorization="Bearer x")[0] == 401
        for token in ("w", "r"):
            assert figures(edges, authorization=f"Bearer {token}")["dropped_total"] == 0
