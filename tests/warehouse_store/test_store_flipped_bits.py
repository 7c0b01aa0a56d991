"""Bits that flip in a block on the disk: the block says what its bytes should be, so none passes."""

import contextlib
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.inbox import write_block
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder
from warehouse.inbox import read_block
from warehouse.testing_rows import in_trace, llm, spans

FLIPS = 150


def test_no_single_flip_passes(tmp_path: Path) -> None:
    """Wherever a bit of the rows flips, in a page, a header or the foot, the block is refused."""
    chance = random.Random(7)
    rows = [llm(f"c{n}", n, n + 1, tokens=(chance.randint(1, 10**6), n)) for n in range(200)]
    block = write_block(DataFolder(tmp_path).make(), "j", 0, spans(*in_trace("1" * 32, rows)))
    file = block / "spans.parquet"
    whole, right = file.read_bytes(), read_block(block).tables["spans"]
    for content in flipped(whole, chance):
        file.write_bytes(content)
        with pytest.raises(BadInputError):
            read_block(block)
    file.write_bytes(whole)
    digests = block / "digests"
    for content in flipped(digests.read_bytes(), chance):
        digests.write_bytes(content)
        with contextlib.suppress(BadInputError):  # the end of a line may be another that ends it
            assert read_block(block).tables["spans"].equals(right)


def flipped(whole: bytes, chance: random.Random) -> Iterator[bytes]:
    for _ in range(FLIPS):
        content = bytearray(whole)
        content[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        yield bytes(content)


def test_a_file_that_is_gone_is_missed(tmp_path: Path) -> None:
    """A block that lost one of its files is no smaller block."""
    block = write_block(DataFolder(tmp_path).make(), "j", 0, spans(llm("c", 0, 1)))
    (block / "spans.parquet").unlink()
    with pytest.raises(BadInputError, match="gone"):
        read_block(block)


@pytest.mark.parametrize("place", [0.3, 0.6])
def test_a_page_with_a_flipped_byte_is_refused(tmp_path: Path, place: float) -> None:
    """The checksum of the page does not hold."""
    rows = [llm(f"c{n}", n, n + 1, tokens=(n, n)) for n in range(200)]
    block = write_block(DataFolder(tmp_path).make(), "j", 0, spans(*in_trace("1" * 32, rows)))
    file = block / "spans.parquet"
    content = bytearray(file.read_bytes())
    foot = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    content[int(foot * place)] ^= 0xFF
    file.write_bytes(content)

    with pytest.raises(BadInputError):
        read_block(block)
