"""Which GPU serves which deployment: by what the settings say, else by what its samples say of it."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from taximeter.clock import NS_PER_S
from taximeter.gpus_command import as_lines
from taximeter.settings import Deployment, Gpus, Settings
from warehouse.rows import SAMPLES
from warehouse.testing import store

START_NS = 1_790_000_100 * NS_PER_S
LATER_NS = START_NS + 3_600 * NS_PER_S


def card(number: int, **said: Any) -> list[dict[str, Any]]:
    """Make a minute of samples of one card; `said` goes with its process figures."""
    host = said.pop("host", "n1")
    metrics = said.pop("metrics", {"util_ratio": 0.0, "memory_used_mib": 9_000.0})
    key = {"host": host, "gpu_uuid": f"GPU-{host}-{number}", "bus_id": f"0{number}", "source": "nvml"}
    base = {"gpu_name": "NVIDIA H100 80GB HBM3", "gpu_index": number, "simulated": False, **key}
    rows = [
        {**base, "metric": metric, "value": value, "t_ns": START_NS + second * NS_PER_S}
        for second in range(61)
        for metric, value in metrics.items()
    ]
    if said:
        held = {"metric": "process_memory_mib", "value": 8_000.0, "pid": 7, **said}
        rows += [{**base, **held, "t_ns": START_NS + second * NS_PER_S} for second in range(0, 61, 5)]
    return [dict.fromkeys(SAMPLES.names) | row for row in rows]


def deployment(name: str, count: int, **said: Any) -> Deployment:
    per_replica = said.pop("per_replica", 1)
    uuids = said.pop("uuids", [])
    gpus = Gpus(sku="H100-SXM", count=count, per_replica=per_replica, uuids=uuids)
    return Deployment(name=name, gpus=gpus, **said)


def look(
    path: Path, deployments: list[Deployment], *cards: list[dict[str, Any]]
) -> dict[str, dict[str, Any]]:
    with store(path, Settings(deployments=deployments)) as warehouse:
        for rows in cards:
            warehouse.load({"samples": pa.Table.from_pylist(rows, schema=SAMPLES)})
        warehouse.refresh(LATER_NS)
        assert warehouse.check_laws() == []
        return {str(row["gpu_id"]): row for row in warehouse.report("gpus").to_pylist()}


def places(found: dict[str, dict[str, Any]]) -> dict[str, tuple[str | None, str | None, str | None]]:
    return {key: (row["deployment"], row["replica"], row["placed_by"]) for key, row in found.items()}


@pytest.mark.parametrize(
    ("said", "how", "placed_by"),
    [
        ({"served_port": 8001, "served_model": "x"}, {"addresses": ["n1:8001"]}, "address"),
        ({"served_port": 8001, "served_model": "x"}, {"addresses": ["localhost:8001"]}, "address"),
        (
            {"served_port": 9, "served_model": "Qwen/Qwen3-Coder-30B"},
            {"models": ["Qwen/Qwen3-Coder*"]},
            "model",
        ),
        ({"workload": "ml/coder-0/engine"}, {"workloads": ["ml/coder-*"]}, "workload"),
        ({"deployment": "coder"}, {}, "attribute"),
    ],
)
def test_a_card_is_placed_by_what_its_samples_say(
    tmp_path: Path, said: dict[str, Any], how: dict[str, Any], placed_by: str
) -> None:
    """Of two deployments of one SKU the card is in the one that its process, pod or resource names."""
    others = [deployment("aaa", 1, models=["m"]), deployment("coder", 1, **how)]
    found = places(look(tmp_path, others, card(0, **said)))
    assert found["n1/GPU-n1-0/00"] == ("coder", "0", placed_by)
    assert found["declared/aaa/0"] == ("aaa", "0", "declared")


def test_a_uuid_in_the_settings_decides_before_anything_a_sample_says(tmp_path: Path) -> None:
    """Who wrote a uuid down meant that card."""
    both = [deployment("mine", 1, uuids=["GPU-n1-0"]), deployment("coder", 1, models=["x"])]
    found = places(look(tmp_path, both, card(0, served_model="x", served_port=1)))
    assert found["n1/GPU-n1-0/00"] == ("mine", "0", "uuid")


def test_the_cards_of_one_server_are_one_replica(tmp_path: Path) -> None:
    """Two servers with two cards each are two replicas, however cards are numbered."""
    servers = [card(n, served_model="x", served_port=8000 + n % 2) for n in range(4)]
    found = places(look(tmp_path, [deployment("d", 4, per_replica=2, models=["x"])], *servers))
    assert {key: replica for key, (_, replica, _) in found.items()} == {
        "n1/GPU-n1-0/00": "0",
        "n1/GPU-n1-2/02": "0",
        "n1/GPU-n1-1/01": "1",
        "n1/GPU-n1-3/03": "1",
    }


def test_no_place_is_filled_twice_and_none_that_is_filled_is_declared(tmp_path: Path) -> None:
    """A deployment of two with one card that says so and one of its SKU has two cards, not three."""
    found = places(look(tmp_path, [deployment("d", 2, models=["x"])], card(0), card(1, served_model="x")))
    assert found == {"n1/GPU-n1-0/00": ("d", "1", "sku"), "n1/GPU-n1-1/01": ("d", "0", "model")}


def test_more_cards_than_the_settings_count_are_replicas_of_their_own(tmp_path: Path) -> None:
    """Three cards serve a deployment that the settings count as one: all three are its."""
    cards = [card(n, served_model="x") for n in range(3)]
    found = places(look(tmp_path, [deployment("d", 1, models=["x"])], *cards))
    assert sorted(replica for _, replica, _ in found.values() if replica) == ["0", "1", "2"]


def test_loopback_names_no_server_among_several_machines(tmp_path: Path) -> None:
    """Where two machines serve at port 8000, `localhost:8000` says nothing of either."""
    cards = [card(0, host=host, served_port=8000) for host in ("n1", "n2")]
    one = deployment("d", 1, addresses=["localhost:8000"], uuids=["GPU-other"])
    found = look(tmp_path, [one], *cards)
    assert found["n1/GPU-n1-0/00"]["deployment"] is None


def test_what_nobody_claims_says_what_it_is(tmp_path: Path) -> None:
    """A card outside of all deployments tells the model that it serves, for whoever writes the settings."""
    found = look(tmp_path, [], card(0, served_model="llama", served_port=8000), card(1))
    assert found["n1/GPU-n1-0/00"]["unmatched"] == "serves llama, which no deployment names"
    assert found["n1/GPU-n1-1/01"]["unmatched"] == "no deployment has a place for a H100-SXM"
    text = "\n".join(as_lines(found.values()))
    assert "serves llama, which no deployment names" in text
    assert "0 of 2 GPUs belong to a deployment." in text


@pytest.mark.parametrize(
    ("metrics", "words"),
    [
        ({"util_ratio": 1.0, "power_w": 70.0, "memory_used_mib": 9e3}, "latched counter"),
        ({"util_ratio": 1.0, "power_w": 600.0, "processes": 0.0}, "busy without a process"),
        ({"util_ratio": 0.0, "power_w": 300.0, "memory_used_mib": 9e3}, "more than twice"),
        ({"util_ratio": 0.0, "memory_used_mib": 9e3, "processes": 0.0}, "not seen"),
        ({"util_ratio": 0.5, "power_w": 300.0, "memory_used_mib": 9e3, "processes": 1.0}, None),
    ],
)
def test_signals_that_contradict_each_other_are_named(
    tmp_path: Path, metrics: dict[str, float], words: str | None
) -> None:
    """Neither of two figures that cannot both be right is believed silently."""
    (row,) = look(tmp_path, [], card(0, metrics=metrics)).values()
    assert (row["contradiction"] is None) if words is None else (words in row["contradiction"])


def test_a_map_without_gpus_says_what_to_do() -> None:
    """An empty house tells a newcomer the next step."""
    assert "taximeter agent" in "\n".join(as_lines([]))
