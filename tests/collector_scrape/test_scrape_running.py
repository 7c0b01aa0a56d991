"""The scraper against real HTTP servers: good ones, slow ones, broken ones, and ones that come and go."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from collector.decode.block import decode_block
from collector.decode.testing import OPTIONS, make_record
from collector.scrape import fetch, scraper
from collector.scrape.scraper import Scraper
from collector.scrape.targets import Target
from taximeter.clock import SYSTEM_CLOCK

Answer = Callable[[BaseHTTPRequestHandler], None]


def page(text: str, status: int = 200) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        body = text.encode()
        handler.send_response(status)
        handler.send_header("content-length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


@contextmanager
def serving(answer: Answer) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            try:
                answer(self)
            except OSError:
                self.close_connection = True

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/metrics"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def scrape(targets: list[Target], seconds: float, file: Path | None = None) -> list[dict[str, Any]]:
    """Run a scraper for that long and give the points that it handed on."""
    taken: list[bytes] = []

    async def run() -> None:
        work = Scraper(taken.append, SYSTEM_CLOCK, "node-1").run(targets, file)
        with suppress(TimeoutError):
            await asyncio.wait_for(work, seconds)

    asyncio.run(run())
    return [
        row
        for request in taken
        for row in decode_block([make_record(request, "metrics")], OPTIONS)["points"].to_pylist()
    ]


def ups(points: list[dict[str, Any]]) -> list[tuple[float, str]]:
    found = [row for row in points if row["metric"] == "taximeter.scrape.up"]
    return [(row["value"], row["attributes"].split('"reason":"')[1].split('"')[0]) for row in found]


def test_a_page_is_asked_for_again_and_again() -> None:
    """Every turn gives the page's figures once, with the target's deployment and machine."""
    with serving(page("# TYPE a gauge\na 4\n")) as url:
        points = scrape([Target(url, 0.1, deployment="d")], 0.55)
    told = [row for row in points if row["metric"] == "a"]
    assert 3 <= len(told) <= 6
    assert {(row["value"], row["host"]) for row in told} == {(4, "node-1")}
    assert all('"taximeter.deployment":"d"' in row["attributes"] for row in told)
    assert set(ups(points)) == {(1, "ok")}


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (page("a 1\n", 503), "status 503"),
        (page("<html></html>"), "unreadable"),
        (page("a 1\n" * 100), "too_large"),
        (lambda _: time.sleep(0.6), "timeout"),
        (lambda handler: handler.connection.close(), "broken"),
    ],
)
def test_a_target_that_does_not_tell_says_so_and_tells_nothing_else(
    answer: Answer, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each way to fail is `up` 0 with its reason: no figure of the target is made up."""
    monkeypatch.setattr(fetch, "LARGEST_BYTES", 200)
    with serving(answer) as url:
        points = scrape([Target(url, 0.2)], 0.5)
    assert (0, reason) in ups(points)
    assert {row["metric"] for row in points if row["service_name"] != scraper.SERVICE} == set()


def test_nobody_there_is_unreachable() -> None:
    """A port on which nobody listens is told as such."""
    with serving(page("a 1\n")) as url:
        pass
    assert set(ups(scrape([Target(url, 0.1)], 0.3))) == {(0, "unreachable")}


def test_a_slow_target_delays_no_other() -> None:
    """While one target never answers, another is asked at its own pace."""
    with serving(lambda _: time.sleep(0.8)) as slow, serving(page("a 1\n")) as quick:
        points = scrape([Target(slow, 0.8), Target(quick, 0.1)], 0.65)
    assert len([row for row in points if row["metric"] == "a"]) >= 4


def test_a_list_is_followed_as_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A target that is added is asked, one taken out is not any more, a broken list changes nothing."""
    monkeypatch.setattr(scraper, "LOOK_AT_LIST_S", 0.05)
    file = tmp_path / "list.yaml"
    with serving(page("a 1\n")) as first, serving(page("b 1\n")) as second:
        file.write_text(f"- {{url: '{first}', every_s: 0.1}}\n")

        def change() -> None:
            time.sleep(0.4)
            file.write_text(f"- {{url: '{second}', every_s: 0.1}}\n")
            time.sleep(0.4)
            file.write_text("- nonsense")

        changing = threading.Thread(target=change)
        changing.start()
        points = scrape([], 1.2, file)
        changing.join()
    told = [(row["metric"], row["t_ns"]) for row in points if row["metric"] in {"a", "b"}]
    firsts = [t_ns for metric, t_ns in told if metric == "a"]
    seconds = [t_ns for metric, t_ns in told if metric == "b"]
    assert max(firsts) < min(seconds)
    assert len(firsts) >= 2
    assert max(seconds) - min(seconds) > 0.5e9


def test_a_token_goes_with_the_question_and_one_that_is_not_set_is_told(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bearer token comes out of the named variable; without it nobody is asked."""
    monkeypatch.setenv("PAGE_TOKEN", "s3")
    monkeypatch.delenv("NO_TOKEN", raising=False)

    def guarded(handler: BaseHTTPRequestHandler) -> None:
        is_known = handler.headers.get("authorization") == "Bearer s3"
        page("a 1\n", 200 if is_known else 401)(handler)

    with serving(guarded) as url:
        assert set(ups(scrape([Target(url, 0.2, token_env="PAGE_TOKEN")], 0.3))) == {(1, "ok")}
        assert set(ups(scrape([Target(url, 0.2, token_env="NO_TOKEN")], 0.3))) == {(0, "no_token")}
