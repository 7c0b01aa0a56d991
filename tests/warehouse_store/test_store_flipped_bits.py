"""Bits that flip in a block on the disk: checksums guard its pages, but not their headers and the foot."""

import random
from pathlib import Path

import pytest

from collector.inbox import write_block
from taximeter.errors import BadInputError
from taximeter.layout import DataFolder
from warehouse.inbox import read_block
from warehouse.testing_rows import in_trace, llm, spans

FLIPS = 150


def test_single_flips_raise_nothing_else_and_hardly_ever_pass(tmp_path: Path) -> None:
    """Whatever flips, the block is refused or read; only what no checksum covers can pass for another row."""
    chance = random.Random(7)
    rows = [llm(f"c{n}", n, n + 1, tokens=(chance.randint(1, 10**6), n)) for n in range(200)]
    block = write_block(DataFolder(tmp_path).make(), "j", 0, spans(*in_trace("1" * 32, rows)))
    file = block / "spans.parquet"
    whole, right = file.read_bytes(), read_block(block).tables["spans"]
    altered = 0
    for _ in range(FLIPS):
        content = bytearray(whole)
        content[chance.randrange(4, len(whole))] ^= 1 << chance.randrange(8)
        file.write_bytes(content)
        try:
            altered += not read_block(block).tables["spans"].equals(right)
        except BadInputError:
            continue
    assert altered <= FLIPS // 50


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
