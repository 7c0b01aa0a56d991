"""A small simulated day, played once through real edges and decoded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from collector.decode import DecodeOptions, decode_block
from collector.demo.day import Day
from collector.demo.story import Story, story
from collector.edge.testing import running_edges
from taximeter.clock import NS_PER_S

UNTIL_NS = 1_764_600_000 * NS_PER_S
TICK_S = 600


class Played(NamedTuple):
    truth: dict[str, Any]
    tables: dict[str, pa.Table]
    until_ns: int
    tick_s: int


@pytest.fixture(scope="session")
def small_story() -> Story:
    """All agents and cards of the story, an eighth of its tasks, a sample in ten minutes."""
    told = story()
    agents = [agent.model_copy(update={"tasks": max(6, agent.tasks // 8)}) for agent in told.agents]
    update = {"agents": agents, "sample_interval_s": TICK_S, "process_interval_s": TICK_S}
    return told.model_copy(update=update)


@pytest.fixture(scope="session")
def play(small_story: Story) -> Callable[[Path], Played]:
    def run(root: Path) -> Played:
        options = DecodeOptions(content_key=b"k" * 32, capture_text=False, task_key=None)
        with running_edges(root, max_request_bytes=16 << 20) as edges:
            truth = Day(small_story).play(edges.http_url, edges.grpc_target, UNTIL_NS)
            tables = decode_block(edges.records(), options)
        return Played(json.loads(json.dumps(truth)), tables, UNTIL_NS, TICK_S)

    return run


@pytest.fixture(scope="session")
def played(play: Callable[[Path], Played], tmp_path_factory: pytest.TempPathFactory) -> Played:
    return play(tmp_path_factory.mktemp("day"))
