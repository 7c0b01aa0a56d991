"""One page over HTTP: bounded in bytes and in time, and every way to fail is a reason."""

import asyncio
from typing import NamedTuple

import httpx

from collector.scrape.ollama import PATH, read_ps
from collector.scrape.page import Page, read_page
from taximeter.errors import BadInputError

LARGEST_BYTES = 32 << 20
_ACCEPT = {"accept": "text/plain;version=0.0.4, text/plain;q=0.5, application/json;q=0.4"}


class Fetched(NamedTuple):
    """What asking gave: a page, or the reason why there is none."""

    page: Page | None
    reason: str = ""


async def fetch(client: httpx.AsyncClient, url: str, timeout_s: float, token: str | None = None) -> Fetched:
    """Ask once, for `timeout_s` at most; redirects are not followed, an answer too long is refused."""
    try:
        async with asyncio.timeout(timeout_s):
            return await _ask(client, url, token)
    except (TimeoutError, httpx.TimeoutException):
        return Fetched(None, "timeout")
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        return Fetched(None, "unreachable" if isinstance(error, httpx.ConnectError) else "broken")


async def _ask(client: httpx.AsyncClient, url: str, token: str | None) -> Fetched:
    headers = _ACCEPT | ({"authorization": f"Bearer {token}"} if token else {})
    body = bytearray()
    async with client.stream("GET", url, headers=headers, timeout=None) as response:
        if response.status_code != httpx.codes.OK:
            return Fetched(None, f"status {response.status_code}")
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > LARGEST_BYTES:
                return Fetched(None, "too_large")
    text = body.decode("utf-8", "replace")
    try:
        return Fetched(read_ps(text) if url.endswith(PATH) else read_page(text))
    except BadInputError:
        return Fetched(None, "unreadable")
