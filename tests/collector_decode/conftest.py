"""Reference requests that lie outside of the repository; tests that need them skip where they are missing."""

from pathlib import Path

import pytest

from collector.otlp_json import to_protobuf

SHARED = Path(__file__).parents[2].parent / "shared"
SPANS = SHARED / "reference" / "spans"
RUNS = SHARED / "data" / "otlp-agent-runs"


def _documents() -> list[Path]:
    found = [path for path in sorted(SPANS.glob("*.json")) if ".expected." not in path.name]
    runs = [path for path in sorted(RUNS.glob("*/**/*.json")) if ".truth." not in path.name]
    return found + [path for path in runs if path.parent.name != "samples"]


@pytest.fixture(scope="session")
def requests() -> dict[str, bytes]:
    """All reference documents as trace requests, by the name of their file in their folder."""
    documents = _documents()
    if not documents:
        pytest.skip("the reference spans are not beside this repository")
    return {f"{path.parent.name}/{path.stem}": to_protobuf("traces", path.read_bytes()) for path in documents}
