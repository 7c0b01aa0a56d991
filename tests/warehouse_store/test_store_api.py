"""The HTTP API and its client: what they answer, to whom, and how they refuse."""

import json
import socket
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import pyarrow as pa
import pytest

from taximeter.errors import SettingsError, TaximeterError, UnsafeBindError
from taximeter.settings import Settings, Token
from taximeter.settings import Warehouse as WarehouseSettings
from warehouse import reading
from warehouse.access import Access, is_loopback, read_access, read_token
from warehouse.client import Client
from warehouse.reports import find_report
from warehouse.testing import Store, serve, store

NOW_NS = 1_800_000_000_000_000_000
HOUR_NS = 3_600_000_000_000


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with store(tmp_path_factory.mktemp("data")) as opened:
        opened.clock.stand_at(NOW_NS)
        rows = {"received_ns": [NOW_NS - HOUR_NS, NOW_NS - 25 * HOUR_NS], "reason": ["negative", "bad_id"]}
        opened.load({"refused": pa.table(rows)})
        yield opened


@pytest.fixture(name="url", scope="module")
def _url(warehouse: Store) -> Iterator[str]:
    with serve(warehouse) as url:
        yield url


def get(url: str, path: str, method: str = "GET", **headers: str) -> tuple[int, Any, dict[str, str]]:
    """Send a request with exactly these headers; gives status, body (JSON where it is) and headers."""
    where = urlsplit(url)
    connection = HTTPConnection(where.hostname, where.port, timeout=20)
    try:
        connection.request(
            method, path, headers={key.replace("_", "-"): value for key, value in headers.items()}
        )
        answer = connection.getresponse()
        body = answer.read()
        is_json = answer.headers["content-type"] == "application/json"
        return answer.status, json.loads(body) if is_json else body, dict(answer.headers.items())
    finally:
        connection.close()


def test_a_report_is_answered_as_json(url: str) -> None:
    """A report by its name is one array of objects."""
    status, body, _ = get(url, "/v1/reports/refused")

    assert status == 200
    assert [row["reason"] for row in body] == ["negative", "bad_id"]


@pytest.mark.parametrize(
    ("query", "reasons"),
    [
        ("since=24h", ["negative"]),
        ("until=24h", ["bad_id"]),
        (f"since={NOW_NS - HOUR_NS}", ["negative"]),
        (f"until={NOW_NS - HOUR_NS}", ["bad_id"]),
        ("since=2027-01-14T00:00:00Z&until=2027-01-15T00:00:00Z", ["bad_id"]),
        ("reason=negative", ["negative"]),
        ("reason=nothing", []),
        ("max_rows=1", ["negative"]),
    ],
)
def test_parameters_choose_rows(url: str, query: str, reasons: list[str]) -> None:
    """Ranges are half-open and given as a time ago, ISO 8601 or ns; other parameters go by name."""
    status, body, _ = get(url, f"/v1/reports/refused?{query}")

    assert (status, [row["reason"] for row in body]) == (200, reasons)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/reports/nope", 404),
        ("/v1/reports/..%2Fschema%2Fspans", 404),
        ("/nowhere", 404),
        ("/v1/reports/refused?since=soon", 400),
        ("/v1/reports/refused?colour=red", 400),
        ("/v1/reports/refused?max_rows=many", 400),
        ("/v1/reports/refused?format=xml", 400),
    ],
)
def test_what_cannot_be_answered_says_why(url: str, path: str, status: int) -> None:
    """A wrong name or value gets its status and one line that says what is wrong."""
    answered, body, _ = get(url, path)

    assert answered == status
    assert list(body) == ["error"]
    assert "\n" not in body["error"]


def test_other_methods_are_refused(url: str) -> None:
    """The API only reads."""
    assert get(url, "/v1/reports/refused", method="POST")[:2] == (405, {"error": "Method Not Allowed"})


def test_a_report_that_fails_is_told_and_the_next_one_answered(warehouse: Store, url: str) -> None:
    """A database error is a 500 with one line, not a broken connection, and stops nothing."""
    warehouse.connection.execute("alter table refused rename to hidden")
    try:
        status, body, _ = get(url, "/v1/reports/refused")
    finally:
        warehouse.connection.execute("alter table hidden rename to refused")

    assert status == 500
    assert "refused" in body["error"]
    assert get(url, "/v1/reports/refused")[0] == 200


def test_reports_are_listed_with_their_parameters(url: str) -> None:
    """The list tells of every report its grain, law and parameters with defaults."""
    status, body, _ = get(url, "/v1/reports")

    refused = next(report for report in body if report["name"] == "refused")
    assert status == 200
    assert refused["parameters"] == {"reason": None, "max_rows": 1000}


def test_openapi_describes_every_report(url: str) -> None:
    """The API describes itself: one path per report, with its parameters."""
    paths = get(url, "/openapi.json")[1]["paths"]
    names = {parameter["name"] for parameter in paths["/v1/reports/refused"]["get"]["parameters"]}

    assert {f"/v1/reports/{report['name']}" for report in get(url, "/v1/reports")[1]} < paths.keys()
    assert names == {"since", "until", "zone", "reason", "max_rows", "format"}


def test_formats_come_with_their_media_type(url: str) -> None:
    """Every format is answered as what it is."""
    types = {
        name: get(url, f"/v1/reports/refused?format={name}")[2]["content-type"]
        for name in ("json", "csv", "table", "parquet", "arrow")
    }

    assert types == {
        "json": "application/json",
        "csv": "text/csv; charset=utf-8",
        "table": "text/plain; charset=utf-8",
        "parquet": "application/vnd.apache.parquet",
        "arrow": "application/vnd.apache.arrow.stream",
    }


def test_health_needs_no_token_and_tells_how_far_behind_the_meter_is(warehouse: Store) -> None:
    """Liveness is open to supervisors and says whether every block that arrived is in the figures."""
    with serve(warehouse, Access(("secret",), ())) as url:
        status, body, _ = get(url, "/v1/health")

    assert status == 200
    assert body["status"] == "ok"
    assert (body["blocks_waiting"], body["lag_s"], body["is_current"]) == (0, 0.0, False)


@pytest.mark.parametrize(
    ("authorization", "status"),
    [
        (None, 401),
        ("", 401),
        ("Bearer", 401),
        ("Bearer wrong", 401),
        ("Basic reader", 401),
        ("Bearer writer", 403),
        ("Bearer reader", 200),
        ("bearer reader", 200),
    ],
)
def test_a_token_with_the_read_scope_is_needed_where_tokens_are(
    warehouse: Store, authorization: str | None, status: int
) -> None:
    """With tokens configured only one that may read gets reports; the others are told what is missing."""
    headers = {} if authorization is None else {"Authorization": authorization}
    with serve(warehouse, Access(("reader",), ("writer",))) as url:
        answered, body, sent = get(url, "/v1/reports/refused", **headers)

    assert answered == status
    assert status == 200 or ("reader" not in str(body) and list(body) == ["error"])
    assert (sent.get("www-authenticate") == "Bearer") == (status == 401)


def test_a_page_that_points_its_own_name_here_gets_nothing(url: str) -> None:
    """Without tokens only loopback's own names are answered, so no web page can read through a browser."""
    assert get(url, "/v1/reports/refused", Host="evil.example")[0] == 403
    assert get(url, "/v1/reports/refused", Host="localhost:8080")[0] == 200


def test_too_many_readers_are_told_to_come_back(warehouse: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the queue a reader gets 503 with Retry-After at once, and those before it get their answer."""
    entered, go = threading.Event(), threading.Event()
    answered = reading.run_report

    def wait(*given: Any) -> pa.Table:
        entered.set()
        assert go.wait(20)
        return answered(*given)

    monkeypatch.setattr(reading, "run_report", wait)
    first: list[int] = []
    with serve(warehouse, limits=reading.Limits(at_once=1, queue=0)) as url:
        thread = threading.Thread(target=lambda: first.append(get(url, "/v1/reports/refused")[0]))
        thread.start()
        assert entered.wait(20)
        status, body, headers = get(url, "/v1/reports/refused")
        go.set()
        thread.join()

    assert (status, headers["retry-after"], first) == (503, "1", [200])
    assert "too many" in body["error"]


def test_a_report_that_takes_too_long_is_broken_off(
    warehouse: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A report without end is stopped after its time, with a status of its own, and frees its place."""
    endless = "select sum(a.i * b.i) as s from range(10000000) as a(i), range(10000000) as b(i)"
    with serve(warehouse, limits=reading.Limits(at_once=1, queue=0, longest_s=0.2)) as url:
        with monkeypatch.context() as patch:
            patch.setattr(
                reading, "find_report", lambda name: find_report(name)._replace(sql=endless, parameters={})
            )
            status, body, _ = get(url, "/v1/reports/refused")
        after = get(url, "/v1/reports/refused")[0]

    assert (status, after) == (504, 200)
    assert "ask for less time" in body["error"]


def test_the_client_gives_the_same_table(warehouse: Store, url: str) -> None:
    """Asking over HTTP gives the table of the store itself, types included."""
    assert Client(url).report("refused", reason="negative", since=None) == warehouse.report(
        "refused", reason="negative"
    )


def test_the_client_says_in_one_line_what_went_wrong(url: str) -> None:
    """Refused, or nobody there: each is one line for the person at the keyboard."""
    with pytest.raises(TaximeterError, match=r"does not answer.*taximeter up"):
        Client(f"http://127.0.0.1:{_free_port()}").report("refused")
    with pytest.raises(TaximeterError, match="there is no report 'nope'"):
        Client(url).report("nope")
    with pytest.raises(TaximeterError, match="no address of a warehouse"):
        Client("ftp://somewhere")


def test_the_client_knows_whether_a_warehouse_answers(url: str) -> None:
    """A warehouse is up; a port without one is not."""
    assert Client(url).is_up()
    assert not Client(f"http://127.0.0.1:{_free_port()}").is_up()


def test_no_public_bind_without_a_token(monkeypatch: pytest.MonkeyPatch) -> None:
    """Listening beyond loopback is refused until a token may read, and the error says how to set one."""
    public = WarehouseSettings(host="0.0.0.0")
    monkeypatch.setenv("READ_TOKEN", "secret")
    writer = Token(env="READ_TOKEN", scopes=["write"])

    with pytest.raises(UnsafeBindError, match="tokens:"):
        read_access(Settings(warehouse=public))
    with pytest.raises(UnsafeBindError, match="tokens:"):
        read_access(Settings(warehouse=public, tokens=[writer]))
    assert read_access(Settings(warehouse=public, tokens=[Token(env="READ_TOKEN")])) == Access(
        ("secret",), ()
    )
    assert read_access(Settings()) == Access((), ())


def test_a_token_that_is_not_set_is_named_and_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing variable is an error that tells its name."""
    monkeypatch.delenv("READ_TOKEN", raising=False)
    with pytest.raises(SettingsError, match="READ_TOKEN"):
        read_token(Settings(tokens=[Token(env="READ_TOKEN")]))
    assert read_token(Settings()) is None


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("meter", False),
    ],
)
def test_loopback_is_known(host: str, expected: bool) -> None:  # noqa: FBT001
    """Only addresses that no other machine reaches count as loopback; a name that is not known does not."""
    assert is_loopback(host) is expected


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])
