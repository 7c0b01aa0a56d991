"""Real recordings, where they are, and small files to import."""

from pathlib import Path

import pytest

SHARED = Path(__file__).parents[3] / "shared"


@pytest.fixture
def agent_runs() -> Path:
    """The 38 recorded agent runs, their truth files and the oracle beside them."""
    folder = SHARED / "data" / "otlp-agent-runs"
    if not folder.is_dir():
        pytest.skip("the recorded agent runs are not on this machine")
    return folder
