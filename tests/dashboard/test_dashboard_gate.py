"""The gate before the pages: who shows no token sees nothing."""

import pytest
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from dashboard.gate import COOKIE, SIGN_IN, Gate, mark

TOKEN = "a-long-random-text"


def page(_: object) -> PlainTextResponse:
    return PlainTextResponse("secret figures")


async def stream(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_text("secret figures")
    await socket.close()


@pytest.fixture
def visitor() -> TestClient:
    routes = [
        Route("/", page),
        Route("/task", page),
        Route("/_stcore/health", page),
        WebSocketRoute("/_stcore/stream", stream),
    ]
    return TestClient(Gate(Starlette(routes=routes), [TOKEN]), follow_redirects=False)


def test_without_a_token_a_page_asks_for_one(visitor: TestClient) -> None:
    """A stranger gets a form and no figure, and the form leads back to the page that was asked for."""
    answer = visitor.get("/task?task_id=a'b")

    assert answer.status_code == 401
    assert "secret" not in answer.text
    assert "/task?task_id=a&#x27;b" in answer.text


def test_without_a_token_the_stream_is_closed(visitor: TestClient) -> None:
    """Streamlit sends everything over its websocket: that is guarded as well."""
    with pytest.raises(WebSocketDisconnect), visitor.websocket_connect("/_stcore/stream"):
        pass


def test_a_known_token_opens_page_and_stream(visitor: TestClient) -> None:
    """After signing in once, a browser session sees the pages."""
    answer = visitor.post(SIGN_IN, data={"token": TOKEN, "next": "/task?task_id=1"})

    assert answer.status_code == 303
    assert answer.headers["location"] == "/task?task_id=1"
    assert visitor.get("/").text == "secret figures"
    with visitor.websocket_connect("/_stcore/stream") as socket:
        assert socket.receive_text() == "secret figures"


def test_the_cookie_does_not_hold_the_token(visitor: TestClient) -> None:
    """A stolen cookie cannot send telemetry; scripts of a page cannot read it."""
    answer = visitor.post(SIGN_IN, data={"token": TOKEN})
    cookie = answer.headers["set-cookie"]

    assert TOKEN not in cookie
    assert f"{COOKIE}={mark(TOKEN)}" in cookie
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie


@pytest.mark.parametrize("given", ["", "wrong", TOKEN[:-1], mark(TOKEN), "ü"])
def test_any_other_token_is_refused(visitor: TestClient, given: str) -> None:
    """A wrong token opens nothing, and the answer says that it is not known."""
    answer = visitor.post(SIGN_IN, data={"token": given})

    assert answer.status_code == 403
    assert visitor.get("/").status_code == 401


def test_a_bearer_token_is_enough(visitor: TestClient) -> None:
    """Programs need no form."""
    assert visitor.get("/", headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert visitor.get("/", headers={"authorization": f"Basic {TOKEN}"}).status_code == 401


@pytest.mark.parametrize(
    "where", ["https://elsewhere.example", "//elsewhere.example", "/\\elsewhere.example"]
)
def test_signing_in_never_leads_elsewhere(visitor: TestClient, where: str) -> None:
    """A crafted form cannot send a visitor to another host."""
    answer = visitor.post(SIGN_IN, data={"token": TOKEN, "next": where})

    assert answer.headers["location"] == "/"


def test_a_form_of_any_size_is_not_read(visitor: TestClient) -> None:
    """The sign-in reads a few kilobytes and no more."""
    assert visitor.post(SIGN_IN, content=b"token=" + b"x" * 1_000_000).status_code == 403


def test_supervisors_may_ask_whether_it_lives(visitor: TestClient) -> None:
    """Liveness tells no figure and needs no token."""
    assert visitor.get("/_stcore/health").status_code == 200
