"""OTLP over HTTP: protobuf and JSON, answered in the content type of the request."""

from collections.abc import Awaitable, Callable

from google.protobuf.json_format import MessageToJson
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from collector.edge.inflate import inflate, too_large
from collector.edge.intake import Intake
from collector.edge.refusal import MALFORMED, TOO_SLOW, WRONG_SCOPE, WRONG_TYPE, RefusedError, status_of
from collector.edge.room import Held
from collector.edge.services import SERVICES, Service
from collector.edge.sight import CONTENT_TYPE

PROTOBUF = "application/x-protobuf"
JSON = "application/json"
_BODY_TIMEOUT_S = 30.0

Endpoint = Callable[[Request], Awaitable[Response]]


def application(intake: Intake) -> Starlette:
    """Make the ASGI application of the HTTP edge."""
    exports = [Route(service.path, _export(intake, service), methods=["POST"]) for service in SERVICES]
    return Starlette(
        routes=[
            *exports,
            Route("/healthz", _health(intake)),
            Route("/v1/clock", _clock(intake)),
            Route("/metrics", _metrics(intake)),
        ]
    )


def _export(intake: Intake, service: Service) -> Endpoint:
    async def export(request: Request) -> Response:
        media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        try:
            await _take(intake, service, media, request)
        except RefusedError as error:
            intake.sight.refused(service.signal, error)
            return _refusal(media, error)
        # An empty Export...ServiceResponse: everything was taken.
        return Response(b"{}", media_type=JSON) if media == JSON else Response(b"", media_type=PROTOBUF)

    return export


async def _take(intake: Intake, service: Service, media: str, request: Request) -> None:
    tenant = intake.tenant_of(request.headers.get("authorization"))
    if media not in (PROTOBUF, JSON):
        raise RefusedError(WRONG_TYPE, f"Content-Type must be {PROTOBUF} or {JSON}")
    peer = request.client.host if request.client else ""
    take = intake.take_json if media == JSON else intake.take
    with intake.room.hold() as held:
        sent = await _read_body(request, intake.max_request_bytes, held)
        body = inflate(request.headers.get("content-encoding", ""), sent, intake.max_request_bytes)
        held.grow(len(body) - len(sent))
        await take(service, tenant, peer, body)


async def _read_body(request: Request, max_bytes: int, held: Held) -> bytes:
    declared = request.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > max_bytes:
        raise too_large(max_bytes)
    body = bytearray()
    try:
        async with held.arrival(_BODY_TIMEOUT_S):
            async for chunk in request.stream():
                held.grow(len(chunk))
                body += chunk
                if len(body) > max_bytes:
                    raise too_large(max_bytes)
    except TimeoutError:
        raise RefusedError(TOO_SLOW, "the body did not arrive in time; send it again") from None
    except ClientDisconnect:
        raise RefusedError(MALFORMED, "the connection was closed before the body was whole") from None
    return bytes(body)


def _refusal(media: str, error: RefusedError) -> Response:
    status = status_of(error)
    headers = {"Retry-After": str(error.why.retry_s)} if error.why.retry_s else {}
    if error.why.http_status == 401:  # noqa: PLR2004
        headers["WWW-Authenticate"] = "Bearer"
    if media == PROTOBUF:
        content, media_type = status.SerializeToString(), PROTOBUF
    else:
        content, media_type = MessageToJson(status, indent=None).encode(), JSON
    return Response(content, error.why.http_status, headers, media_type)


def _health(intake: Intake) -> Endpoint:
    async def health(_: Request) -> Response:
        journal = intake.journal
        return JSONResponse(
            {
                "status": "ok",
                "journal": journal.name,
                "durable_block": journal.durable,
                "decoded_block": journal.decoded,
                "journal_bytes": journal.used_bytes,
            }
        )

    return health


def _metrics(intake: Intake) -> Endpoint:
    async def metrics(request: Request) -> Response:
        try:
            intake.tenant_of(request.headers.get("authorization"))
        except RefusedError as error:
            if error.why is not WRONG_SCOPE:  # who may only read may look
                return _refusal(JSON, error)
        return Response(intake.sight.page(), headers={"content-type": CONTENT_TYPE})

    return metrics


def _clock(intake: Intake) -> Endpoint:
    async def clock(_: Request) -> Response:
        return JSONResponse({"now_ns": intake.clock.now_ns()})

    return clock
