"""Puts the oracle, the made-up fleets and the bench beside the tests within their reach."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from ledger_bench import Bench, open_bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    with open_bench(tmp_path) as opened:
        yield opened
