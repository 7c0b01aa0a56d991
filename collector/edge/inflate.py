"""Undoing a request's compression without ever holding more than the limit."""

import zlib
from collections.abc import Callable

import zstandard

from collector.edge.refusal import MALFORMED, TOO_LARGE, WRONG_TYPE, RefusedError

_GZIP_WBITS = 16 + zlib.MAX_WBITS
_ZSTD_MIN_WINDOW_BYTES = 8 * 1024 * 1024
# The library does not bound what one call returns. A block of 4 bytes can grow to 128 KiB: these to 8 MiB.
_ZSTD_PIECE_BYTES = 256


def inflate(encoding: str, body: bytes, max_bytes: int) -> bytes:
    """Undo one Content-Encoding: identity, gzip, deflate (zlib) or zstd.

    Raises:
        RefusedError: the encoding is unknown, the body is not of that encoding or cut short, or it would grow
            beyond `max_bytes`; it is never grown further than that to find out.
    """
    name = encoding.strip().lower()
    if name in ("", "identity"):
        return body
    undo = _UNDO.get(name)
    if undo is None:
        raise RefusedError(WRONG_TYPE, "Content-Encoding must be gzip, zstd, deflate or identity")
    try:
        return undo(body, max_bytes)
    except (zlib.error, zstandard.ZstdError):
        raise RefusedError(MALFORMED, f"the body is not whole {name} data") from None


def too_large(max_bytes: int) -> RefusedError:
    """Say that a request is beyond the limit."""
    return RefusedError(TOO_LARGE, f"the request is larger than {max_bytes} bytes; send smaller batches")


def _gzip(body: bytes, max_bytes: int) -> bytes:
    return _zlib_members(body, max_bytes, _GZIP_WBITS)


def _deflate(body: bytes, max_bytes: int) -> bytes:
    return _zlib_members(body, max_bytes, zlib.MAX_WBITS)


def _zlib_members(body: bytes, max_bytes: int, wbits: int) -> bytes:
    whole = b""
    rest = body
    while rest:
        member = zlib.decompressobj(wbits)
        whole += member.decompress(rest, max_bytes + 1 - len(whole))
        if len(whole) > max_bytes:
            raise too_large(max_bytes)
        if not member.eof:
            message = "cut short"
            raise zlib.error(message)
        rest = member.unused_data
    return whole


def _zstd(body: bytes, max_bytes: int) -> bytes:
    window = max(_ZSTD_MIN_WINDOW_BYTES, 1 << max_bytes.bit_length())
    whole = bytearray()
    rest = body
    while rest:
        frame = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
        for at in range(0, len(rest), _ZSTD_PIECE_BYTES):
            whole += frame.decompress(rest[at : at + _ZSTD_PIECE_BYTES])
            if len(whole) > max_bytes:
                raise too_large(max_bytes)
            if frame.eof:
                rest = frame.unused_data + rest[at + _ZSTD_PIECE_BYTES :]
                break
        else:
            message = "cut short"
            raise zstandard.ZstdError(message)
    return bytes(whole)


_UNDO: dict[str, Callable[[bytes, int], bytes]] = {"gzip": _gzip, "deflate": _deflate, "zstd": _zstd}
