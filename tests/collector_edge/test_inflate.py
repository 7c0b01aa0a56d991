import gzip
import tracemalloc
import zlib
from collections.abc import Callable

import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from collector.edge.inflate import inflate
from collector.edge.refusal import MALFORMED, TOO_LARGE, RefusedError

MAX_BYTES = 1024 * 1024
BOMB_BYTES = 100_000_000
COMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}


@pytest.mark.parametrize("encoding", COMPRESS)
@given(data=st.binary(max_size=3_000), repeat=st.integers(1, 100))
@settings(max_examples=40, deadline=None)
def test_inflate_undoes_compression(encoding: str, data: bytes, repeat: int) -> None:
    """What was compressed comes back, and exactly the limit is still allowed."""
    whole = data * repeat
    assert inflate(encoding, COMPRESS[encoding](whole), len(whole)) == whole
    if whole:
        with pytest.raises(RefusedError) as refused:
            inflate(encoding, COMPRESS[encoding](whole), len(whole) - 1)
        assert refused.value.why is TOO_LARGE


@pytest.mark.parametrize("encoding", COMPRESS)
@given(data=st.binary(min_size=1, max_size=300), share=st.floats(0, 0.999))
@settings(max_examples=40, deadline=None)
def test_a_body_cut_short_is_never_taken_for_whole(encoding: str, data: bytes, share: float) -> None:
    """Any cut that leaves something is malformed: half a request must not look like a smaller one."""
    whole = COMPRESS[encoding](data)
    cut = whole[: max(1, int(len(whole) * share))]
    with pytest.raises(RefusedError) as refused:
        inflate(encoding, cut, MAX_BYTES)
    assert refused.value.why is MALFORMED


@pytest.mark.parametrize("encoding", COMPRESS)
def test_a_bomb_is_never_unpacked(encoding: str) -> None:
    """Finding out that 100 MB do not fit takes a small part of 100 MB."""
    bomb = COMPRESS[encoding](bytes(BOMB_BYTES))
    tracemalloc.start()
    with pytest.raises(RefusedError):
        inflate(encoding, bomb, MAX_BYTES)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak_bytes < BOMB_BYTES / 4


def test_a_huge_window_is_refused() -> None:
    """A zstd frame that asks for a window far beyond the limit is not given the memory."""
    parameters = zstandard.ZstdCompressionParameters(window_log=27, strategy=zstandard.STRATEGY_FAST)
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    frame = compressor.compress(b"x") + compressor.flush()
    with pytest.raises(RefusedError) as refused:
        inflate("zstd", frame, MAX_BYTES)
    assert refused.value.why is MALFORMED
