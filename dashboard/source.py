"""Where the pages get their figures: the warehouse's address and the few facts a page must know.

The program hands it to the pages as one section of Streamlit's secrets, so that no page reads the
environment and a test can hand in another warehouse.
"""

from typing import Any, NamedTuple
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

import pyarrow as pa
import streamlit as st

from taximeter.settings import Settings
from warehouse.client import Client

SECTION = "taximeter"
CACHE_S = 4

Row = dict[str, Any]


class Source(NamedTuple):
    """What the pages need from the settings."""

    warehouse_url: str
    token: str | None
    zone: str
    otlp_http_url: str
    otlp_grpc_url: str
    write_token_env: str | None = None  # the variable that holds a token which may send, never the token

    def as_secrets(self) -> dict[str, Any]:
        """Write it as the one section of secrets that `current` reads; absent values are left out."""
        return {SECTION: {key: value for key, value in self._asdict().items() if value is not None}}


def from_settings(settings: Settings, token: str | None) -> Source:
    """Take the pages' part of the settings; `token` is one that may read reports, if any is needed."""
    collector = settings.collector
    host = _reachable(collector.host, settings.dashboard.public_url)
    return Source(
        warehouse_url=settings.warehouse_url,
        token=token,
        zone=settings.zone,
        otlp_http_url=f"http://{host}:{collector.http_port}",
        otlp_grpc_url=f"http://{host}:{collector.grpc_port}",
        write_token_env=next((entry.env for entry in settings.tokens if "write" in entry.scopes), None),
    )


def _reachable(host: str, public_url: str | None) -> str:
    """Name a host that a sender can reach: 'any address' is no address to send to."""
    if host not in {"0.0.0.0", "::"}:  # noqa: S104 - compared, not bound
        return f"[{host}]" if ":" in host else host
    return urlsplit(public_url or "").hostname or "127.0.0.1"


def current() -> Source:
    """Read the source that the program handed to the pages.

    Raises:
        KeyError: the script was not started by the program (or by a test that hands a source in).
    """
    section = st.secrets[SECTION]
    return Source(
        warehouse_url=section["warehouse_url"],
        token=section.get("token"),
        zone=section["zone"],
        otlp_http_url=section["otlp_http_url"],
        otlp_grpc_url=section["otlp_grpc_url"],
        write_token_env=section.get("write_token_env"),
    )


@st.cache_resource(ttl=CACHE_S, max_entries=256, show_spinner=False)
def ask(source: Source, name: str, **params: Any) -> pa.Table:
    """Answer one report, at most a few seconds old; Arrow tables never change, so all sessions share it.

    Raises:
        TaximeterError: the warehouse does not answer, or refuses.
    """
    return Client(source.warehouse_url, source.token).report(
        name, **{key: value for key, value in params.items() if value is not None}
    )


def rows(source: Source, name: str, **params: Any) -> list[Row]:
    """Answer one report as rows; money is Decimal, instants are naive UTC datetimes, unknown is None."""
    answer: list[Row] = ask(source, name, **params).to_pylist()
    return answer


def zone_of(source: Source) -> ZoneInfo:
    """Name the zone in which a person reads the pages."""
    return ZoneInfo(source.zone)
