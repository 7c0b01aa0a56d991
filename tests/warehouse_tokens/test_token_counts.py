"""What counts once: calls, their views, their roll-ups, whatever the nesting."""

from pathlib import Path

from warehouse.testing import store
from warehouse.testing_rows import START_NS, agent, llm, spans

LATER_NS = START_NS + 3_600_000_000_000


def test_an_agents_sum_is_never_added_to_its_calls(tmp_path: Path) -> None:
    """An agent span that repeats the sum of its calls adds no token."""
    rows = [
        agent("root", 0, 10, input_tokens=113, output_tokens=11, rollup="sum"),
        llm("one", 1, 2, parent="root", tokens=(56, 5)),
        llm("two", 3, 4, parent="root", tokens=(57, 6)),
    ]
    with store(tmp_path) as warehouse:
        warehouse.load(spans(*rows))
        warehouse.refresh(LATER_NS)
        assert warehouse.sql("select total_tokens, unexplained_tokens from tasks") == [(124, 0)]
