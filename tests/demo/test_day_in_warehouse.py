"""The simulated day in the warehouse: every figure that the plan knows comes out as it went in."""

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from collector.demo import settings_text
from taximeter import settings as user_settings
from taximeter.clock import NS_PER_S
from warehouse.testing import Store, store

HOUR_NS = 3600 * NS_PER_S


@pytest.fixture(scope="module")
def warehouse(played: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    root = tmp_path_factory.mktemp("warehouse")
    config = root / "demo.yaml"
    config.write_text(settings_text())
    values = user_settings.load(config, data=root / "data")
    of_warehouse = values.warehouse.model_copy(update={"sample_interval_s": played.tick_s})
    with store(Path(root / "data"), values.model_copy(update={"warehouse": of_warehouse})) as opened:
        opened.load(played.tables)
        opened.refresh(played.until_ns + HOUR_NS)
        yield opened


def test_law_of_the_ledger_holds(warehouse: Store) -> None:
    """The states of every card sum to the time and money held."""
    assert warehouse.check_laws() == []


def test_every_task_has_the_counts_of_the_plan(warehouse: Store, played: Any) -> None:
    """Calls, attempts, tools and tokens per task are those of the plan, for every dialect."""
    columns = "llm_calls, llm_attempts, tool_calls, input_tokens, output_tokens, cache_read_tokens"
    found = {
        row[0]: row[1:]
        for row in warehouse.sql(f"select trace_ids[1], {columns} from tasks")  # noqa: S608
    }
    expected = {
        trace_id: tuple(task[name] for name in columns.split(", "))
        for trace_id, task in played.truth["tasks"].items()
    }
    assert found == expected


def test_every_card_is_in_the_states_of_the_story(warehouse: Store, played: Any) -> None:
    """Cards serve where calls ran, are lost for their hour, forgotten all day, and never of unknown use."""
    states: dict[str, dict[str, int]] = defaultdict(dict)
    for uuid, state, gpu_ns in warehouse.sql(
        "select gpus.gpu_uuid, gpu_ledger.state, sum(gpu_ledger.gpu_ns) from gpu_ledger "
        "inner join gpus on gpus.gpu_id = gpu_ledger.gpu_id group by all"
    ):
        states[uuid][state] = int(gpu_ns)
    turned_away_ns = sum(
        row["end_ns"] - row["start_ns"]
        for row in played.tables["spans"].to_pylist()
        if row["role"] == "llm" and row["status"] == "error"
    )
    for replica in played.truth["replicas"]:
        worked_ns = sum(to_ns - from_ns for from_ns, to_ns in replica["worked_ns"])
        for uuid in replica["gpu_uuids"]:
            served_ns = states[uuid].get("serving", 0)
            # A try that is turned away is in flight too; a lost card is lost since the sample before.
            hidden_ns = played.tick_s * NS_PER_S if replica["lost_ns"] else 0
            assert -hidden_ns <= served_ns - worked_ns <= turned_away_ns
            assert not set(states[uuid]) & {"unknown", "unattributed", "stuck", "cold_start"}
            assert states[uuid].get("lost", 0) == (HOUR_NS if replica["lost_ns"] else 0)
            if replica["deployment"] == "notebook":
                assert set(states[uuid]) == {"unloaded"}


def test_replicas_that_were_never_needed_are_told(warehouse: Store) -> None:
    """At least two of the four replicas of the large deployment were never needed on this day."""
    need = {row["deployment"]: row for row in warehouse.report("replica_need").to_pylist()}
    assert need["qwen-coder"]["replicas"] == 4
    assert need["qwen-coder"]["never_needed"] >= 2


def test_everything_is_priced_and_marked(warehouse: Store) -> None:
    """No model and no card is without a price, and each price of a card says that it is simulated."""
    assert warehouse.report("unpriced").num_rows == 0
    assert {row["price_source"] for row in warehouse.report("gpus_now").to_pylist()} == {
        "demo price list, simulated"
    }
    assert warehouse.sql("select distinct simulated from tasks") == [(True,)]
