"""OTLP over gRPC: generic handlers that pass raw bytes on, so that no message object is built."""

import contextlib
from collections.abc import Iterator
from typing import Any

import grpc

from collector.edge.intake import Intake
from collector.edge.refusal import FULL, RefusedError, status_of
from collector.edge.services import SERVICES, Service

_CODES = {code.value[0]: code for code in grpc.StatusCode}
_CONCURRENT_REQUESTS = 256
# The library refuses beyond this without saying when to try again; it never comes to that.
_HANDLED_AT_ONCE = 16 * _CONCURRENT_REQUESTS
_EMPTY_RESPONSE = b""


def server(intake: Intake) -> grpc.aio.Server:
    """Make the gRPC edge; the caller binds and starts it.

    A message over the limit, compressed or not, is refused by the library with RESOURCE_EXHAUSTED before
    anyone sees it.
    """
    flying = _Flying()
    made = grpc.aio.server(
        options=[("grpc.max_receive_message_length", intake.max_request_bytes), ("grpc.so_reuseport", 0)],
        maximum_concurrent_rpcs=_HANDLED_AT_ONCE,
    )
    made.add_generic_rpc_handlers(
        tuple(
            grpc.method_handlers_generic_handler(
                service.grpc_name,
                {"Export": grpc.unary_unary_rpc_method_handler(_export(intake, service, flying))},
            )
            for service in SERVICES
        )
    )
    return made


class _Flying:
    """How many calls are being taken."""

    count = 0


@contextlib.contextmanager
def _one_more(flying: _Flying) -> Iterator[None]:
    if flying.count >= _CONCURRENT_REQUESTS:
        raise RefusedError(FULL, "too many requests are being taken at this moment")
    flying.count += 1
    try:
        yield
    finally:
        flying.count -= 1


def _export(intake: Intake, service: Service, flying: _Flying) -> Any:
    async def export(payload: bytes, context: Any) -> bytes:
        try:
            tenant = intake.tenant_of(_authorization(context))
            with intake.room.hold() as held, _one_more(flying):
                held.grow(len(payload))
                await intake.take(service, tenant, _host(context.peer()), payload)
        except RefusedError as error:
            intake.sight.refused(service.signal, error)
            await context.abort(_CODES[error.why.code], error.message, _details(error))
        return _EMPTY_RESPONSE

    return export


def _authorization(context: Any) -> str | None:
    for key, value in context.invocation_metadata():
        if key == "authorization":
            return str(value)
    return None


def _host(peer: str) -> str:
    """Take the host from gRPC's way to write a peer, such as ipv4:127.0.0.1:4711."""
    _, _, address = peer.partition(":")
    return address.rpartition(":")[0].strip("[]") or address


def _details(error: RefusedError) -> tuple[tuple[str, bytes], ...]:
    """Say when to try again, the way OTLP senders look for it; nothing where they must not."""
    if error.why.retry_s is None:
        return ()
    return (("grpc-status-details-bin", status_of(error).SerializeToString()),)
