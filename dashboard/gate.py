"""The gate before the pages: a token of the settings, shown once, opens them for a browser session.

The cookie holds a mark made from the token, never the token itself, so that nothing needs to be remembered
here and a stolen cookie cannot be used to write telemetry.
"""

import hmac
from collections.abc import Sequence
from hashlib import sha256
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import parse_qs

from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from dashboard.words import say
from taximeter.secret import same_secret

FORM = Path(__file__).with_name("sign_in.html")
COOKIE = "taximeter_gate"
SIGN_IN = "/sign-in"
OPEN = ("/_stcore/health", "/static/")
LARGEST_FORM_BYTES = 4_096
_FORBIDDEN = 403
_UNAUTHORIZED = 401
_FOUND = 303
_POLICY_VIOLATION = 1008


class Gate:
    """ASGI middleware that lets through who shows one of the tokens, as a cookie's mark or as a bearer."""

    def __init__(self, app: ASGIApp, tokens: Sequence[str]) -> None:
        """Guard `app`; without tokens nobody can pass."""
        self._app = app
        self._tokens = tuple(tokens)
        self._marks = tuple(mark(token) for token in tokens)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request or websocket, or hand it on."""
        if scope["type"] not in {"http", "websocket"} or self._is_open(scope["path"]):
            await self._app(scope, receive, send)
        elif scope["type"] == "http" and scope["path"] == SIGN_IN and scope["method"] == "POST":
            await (await self._sign_in(Request(scope, receive)))(scope, receive, send)
        elif self._may_pass(HTTPConnection(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
        else:
            await _form(_next_of(scope), _UNAUTHORIZED)(scope, receive, send)

    def _is_open(self, path: str) -> bool:
        return path.startswith(OPEN)

    def _may_pass(self, connection: HTTPConnection) -> bool:
        shown = connection.cookies.get(COOKIE, "")
        scheme, _, given = connection.headers.get("authorization", "").partition(" ")
        bearer = given if scheme.lower() == "bearer" else ""
        return any(same_secret(shown, known) for known in self._marks) or self._knows(bearer)

    def _knows(self, given: str) -> bool:
        return any(same_secret(given, token) for token in self._tokens)

    async def _sign_in(self, request: Request) -> Response:
        body = b""
        async for chunk in request.stream():
            body += chunk
            if len(body) > LARGEST_FORM_BYTES:
                return _form("/", _FORBIDDEN)
        fields = parse_qs(body.decode(errors="replace"))
        given, where = fields.get("token", [""])[0], _local(fields.get("next", ["/"])[0])
        if not self._knows(given):
            return _form(where, _FORBIDDEN)
        answer = RedirectResponse(where, _FOUND)
        secure = request.url.scheme == "https"
        answer.set_cookie(COOKIE, mark(given), httponly=True, samesite="lax", secure=secure)
        return answer


def mark(token: str) -> str:
    """Make the cookie's mark of a token: it proves that the token was shown and does not reveal it."""
    return hmac.new(token.encode(), b"taximeter dashboard", sha256).hexdigest()


def _next_of(scope: Scope) -> str:
    query = scope["query_string"].decode(errors="replace")
    return _local(scope["path"] + (f"?{query}" if query else ""))


def _local(address: str) -> str:
    """Keep a redirect on this host: anything that could name another one becomes the first page."""
    safe = address.startswith("/") and not address.startswith("//") and "\\" not in address
    return address if safe else "/"


def _form(where: str, status: int) -> HTMLResponse:
    words = {name: escape(say(f"gate.{name}")) for name in ("title", "body", "label", "button", "wrong")}
    wrong = f'<p role="alert">{words["wrong"]}</p>' if status == _FORBIDDEN else ""
    page = Template(FORM.read_text(encoding="utf-8"))
    return HTMLResponse(
        page.substitute(words | {"wrong": wrong, "where": escape(where), "action": SIGN_IN}),
        status,
        headers={"cache-control": "no-store", "content-security-policy": "frame-ancestors 'none'"},
    )
