"""The HTTP API: every report by its name, and whether the meter runs."""

from collections.abc import Awaitable, Callable
from importlib.metadata import version
from typing import Any

import pyarrow as pa
from fastapi import Depends, FastAPI, Request
from fastapi.responses import JSONResponse, Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException

from taximeter.errors import BadInputError, BusyError, NotFoundError, TaximeterError
from warehouse.access import Access, ForbiddenError, UnauthorizedError
from warehouse.formats import FORMATS, find_format
from warehouse.parameters import Value
from warehouse.reading import Reader, TooLongError
from warehouse.reports import COMMON, Report, read_reports

_STATUS: dict[type[Exception], int] = {
    BadInputError: 400,
    UnauthorizedError: 401,
    ForbiddenError: 403,
    NotFoundError: 404,
    BusyError: 503,
    TooLongError: 504,
}
_HEADERS = {401: {"WWW-Authenticate": "Bearer"}, 503: {"Retry-After": "1"}}
_ABOUT = {
    "since": "From: ISO 8601, a time ago such as 24h or 7d, or ns",
    "until": "Up to, not including; same forms",
    "zone": "Time zone in which days are cut, such as Europe/Berlin",
}


class Repricing(BaseModel):
    """What `/v1/reprice` is asked: a range in the forms that reports take, and whether to keep the result."""

    since: str
    until: str | None = None
    write: bool = False


def build_app(
    reader: Reader,
    access: Access,
    health: Callable[[], dict[str, Any]],
    reprice: Callable[[Repricing], Awaitable[pa.Table]],
) -> FastAPI:
    """Make the application.

    Args:
        reader: what answers reports.
        access: what a request must show; `/v1/health` needs nothing.
        health: tells how loading and refreshing go; called on the server's thread, so it must be quick.
        reprice: prices a range again and tells what that changes.
    """
    app = FastAPI(
        title="Taximeter",
        version=version("taximeter"),
        description="What agent tasks cost, and which GPU dollars nobody used.",
        docs_url=None,
        redoc_url=None,
    )
    allowed = [Depends(_guard(access))]

    @app.get("/v1/health")
    async def tell_health() -> dict[str, Any]:
        """Tell whether the meter runs, and how far behind it is."""
        return health()

    @app.get("/v1/reports", dependencies=allowed)
    async def list_reports() -> list[dict[str, Any]]:
        """List the reports: grain, inputs, law, and parameters with their defaults."""
        return [_describe(report) for report in read_reports().values()]

    async def answer(name: str, request: Request) -> Response:
        given: dict[str, Any] = dict(request.query_params)
        output = find_format(given.pop("format", "json"))
        return Response(await reader.report(name, given, output.write), media_type=output.media_type)

    for report in read_reports().values():
        app.get(
            f"/v1/reports/{report.name}",
            dependencies=allowed,
            name=report.name,
            summary=report.grain,
            description=report.law,
            response_class=Response,
            openapi_extra={"parameters": _parameters(report)},
        )(_named(answer, report.name))
    app.get("/v1/reports/{name}", dependencies=allowed, include_in_schema=False)(answer)

    @app.post("/v1/reprice", response_class=Response)
    async def price_again(asked: Repricing, request: Request) -> Response:
        """Price the steps of a range by today's price book; tells what changes and keeps it if `write`."""
        access.check_admin(request.headers.get("authorization"), request.url.hostname)
        output = find_format(request.query_params.get("format", "json"))
        return Response(output.write(await reprice(asked)), media_type=output.media_type)

    app.add_exception_handler(TaximeterError, _tell)
    app.add_exception_handler(HTTPException, _tell)
    app.add_exception_handler(Exception, _tell)
    return app


def _guard(access: Access) -> Callable[[Request], Awaitable[None]]:
    async def guard(request: Request) -> None:
        access.check(request.headers.get("authorization"), request.url.hostname)

    return guard


def _named(answer: Callable[[str, Request], Awaitable[Response]], name: str) -> Callable[..., Any]:
    async def one(request: Request) -> Response:
        return await answer(name, request)

    return one


def _tell(request: Request, error: Exception) -> JSONResponse:
    del request
    if isinstance(error, HTTPException):
        status, text = error.status_code, str(error.detail)
    else:
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 500)
        text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return JSONResponse({"error": text}, status, headers=_HEADERS.get(status))


def _describe(report: Report) -> dict[str, Any]:
    own = {name: value for name, value in report.parameters.items() if name not in COMMON}
    return {
        "name": report.name,
        "grain": report.grain,
        "inputs": report.inputs,
        "law": report.law,
        "parameters": own,
    }


def _parameters(report: Report) -> list[dict[str, Any]]:
    common: dict[str, Any] = {name: {"type": "string"} for name in _ABOUT}
    own = {name: _schema(value) for name, value in report.parameters.items() if name not in COMMON}
    formats = {"format": {"type": "string", "enum": list(FORMATS), "default": "json"}}
    return [
        {
            "name": name,
            "in": "query",
            "required": False,
            "description": _ABOUT.get(name, ""),
            "schema": schema,
        }
        for name, schema in (common | own | formats).items()
    ]


def _schema(default: Value) -> dict[str, Any]:
    if default is None:
        return {"type": "string"}
    kinds = {str: "string", int: "integer", float: "number"}
    return {"type": kinds[type(default)], "default": default}
