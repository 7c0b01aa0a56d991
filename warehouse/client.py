"""Asking a running warehouse for reports."""

import json
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import quote, urlencode, urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import pyarrow as pa
import pyarrow.ipc

from taximeter.errors import TaximeterError
from warehouse.parameters import Value

TIMEOUT_S = 40.0
REPRICE_TIMEOUT_S = 1_800.0
# The warehouse stands on this machine or is named in the settings: a proxy of the environment is not meant.
_OPENER = build_opener(ProxyHandler({}))


class Client:
    """A warehouse at a URL; holds no connection, so it may be kept and shared."""

    def __init__(self, url: str, token: str | None = None, timeout_s: float = TIMEOUT_S) -> None:
        """Ask at `url`, such as http://127.0.0.1:8080, with a bearer token if one is needed."""
        self._url = url.rstrip("/")
        self._token = token
        self._timeout_s = timeout_s
        if urlsplit(self._url).scheme not in {"http", "https"}:
            message = f"{url!r} is no address of a warehouse; write one such as http://127.0.0.1:8080"
            raise TaximeterError(message)

    def report(self, name: str, **params: Value) -> pa.Table:
        """Answer a report; parameters that are None are left to their defaults.

        Raises:
            TaximeterError: the warehouse does not answer, or refuses; one line says why.
        """
        return self._table(self.report_bytes(name, "arrow", params))

    def reprice(self, since: Value, until: Value, *, write: bool) -> pa.Table:
        """Have a range priced again; see `warehouse.reprice`. Waits until it is done.

        Raises:
            TaximeterError: the warehouse does not answer, or refuses; one line says why.
        """
        asked = {"since": str(since), "until": None if until is None else str(until), "write": write}
        request = self._request("/v1/reprice?format=arrow", json.dumps(asked).encode())
        return self._table(self._open(request, REPRICE_TIMEOUT_S))

    def report_bytes(self, name: str, output: str, params: dict[str, Value]) -> bytes:
        """Answer a report in a format of `warehouse.formats`.

        Raises:
            TaximeterError: the warehouse does not answer, or refuses; one line says why.
        """
        given = {key: value for key, value in params.items() if value is not None}
        return self._get(f"/v1/reports/{quote(name, safe='')}?{urlencode({**given, 'format': output})}")

    def is_up(self) -> bool:
        """Tell whether a warehouse answers there."""
        try:
            return "is_current" in json.loads(self._get("/v1/health"))
        except (TaximeterError, ValueError):
            return False

    def _table(self, content: bytes) -> pa.Table:
        try:
            with pa.ipc.open_stream(content) as stream:
                return stream.read_all()
        except pa.ArrowException:
            message = f"what answers at {self._url} is no warehouse"
            raise TaximeterError(message) from None

    def _get(self, path: str) -> bytes:
        return self._open(self._request(path), self._timeout_s)

    def _request(self, path: str, body: bytes | None = None) -> Request:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        if body is not None:
            headers["Content-Type"] = "application/json"
        return Request(self._url + path, body, headers)  # noqa: S310 - the scheme was checked

    def _open(self, request: Request, timeout_s: float) -> bytes:
        try:
            with _OPENER.open(request, timeout=timeout_s) as answer:
                content: bytes = answer.read()
        except HTTPError as error:
            with error:
                raise TaximeterError(_reason(error)) from None
        except (OSError, HTTPException) as error:
            message = f"the warehouse at {self._url} does not answer ({error}); start it with `taximeter up`"
            raise TaximeterError(message) from None
        return content


def _reason(error: HTTPError) -> str:
    try:
        return str(json.loads(error.read())["error"])
    except (OSError, HTTPException, ValueError, KeyError, TypeError):
        return f"the warehouse answered {error.code} {error.reason}"
