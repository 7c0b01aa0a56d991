"""The way every request takes, whichever protocol it came by: check, make durable, answer."""

import asyncio
from collections.abc import Sequence

from collector.edge.access import Grant, tenant_of
from collector.edge.refusal import FULL, MALFORMED, RefusedError
from collector.edge.room import Room
from collector.edge.services import Service, check
from collector.edge.sight import Sight
from collector.journal.commit import GroupCommit, JournalFullError
from collector.journal.record import Record
from collector.otlp_json import to_protobuf
from taximeter.clock import Clock
from taximeter.errors import BadInputError

# Below this a JSON body is read at once; above, in a thread, so that other requests are not held up.
_INLINE_JSON_BYTES = 32 * 1024
# Of the largest size; of the usual size it is thousands.
_REQUESTS_IN_MEMORY = 16


class Intake:
    """What the HTTP and the gRPC edge share."""

    def __init__(
        self, journal: GroupCommit, grants: Sequence[Grant], clock: Clock, *, max_request_bytes: int
    ) -> None:
        """`max_request_bytes` bounds one request after its compression is undone."""
        self.journal = journal
        self.sight = Sight(journal, journal.folder, clock)
        self.clock = clock
        self.max_request_bytes = max_request_bytes
        self.room = Room(_REQUESTS_IN_MEMORY * max_request_bytes)
        self._grants = tuple(grants)

    def tenant_of(self, authorization: str | None) -> str:
        """Name the sender's tenant; see `collector.edge.access.tenant_of`."""
        return tenant_of(self._grants, authorization)

    async def take(self, service: Service, tenant: str, peer: str, payload: bytes) -> None:
        """Return once the protobuf request is durable.

        Raises:
            RefusedError: it is malformed, or the journal takes nothing now.
        """
        check(service, payload)
        await self._append(service, tenant, peer, payload)

    async def take_json(self, service: Service, tenant: str, peer: str, body: bytes) -> None:
        """Return once the OTLP/JSON request is durable, in its protobuf form.

        Raises:
            RefusedError: it is malformed, or the journal takes nothing now.
        """
        try:
            if len(body) <= _INLINE_JSON_BYTES:
                payload = to_protobuf(service.signal, body)
            else:
                payload = await asyncio.to_thread(to_protobuf, service.signal, body)
        except BadInputError as error:
            raise RefusedError(MALFORMED, str(error)) from None
        await self._append(service, tenant, peer, payload)

    async def _append(self, service: Service, tenant: str, peer: str, payload: bytes) -> None:
        if not payload:  # a request with nothing in it, which the protocol allows
            return
        record = Record(service.signal, tenant, self.clock.now_ns(), peer, payload)
        try:
            await self.journal.append(record)
        except JournalFullError as error:
            raise RefusedError(FULL, str(error)) from None
        self.sight.taken(service.signal, len(payload))
