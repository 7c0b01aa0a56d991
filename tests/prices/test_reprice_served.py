"""Pricing the past again while the warehouse runs: its writing thread does it, for whoever may ask."""

import json
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import httpx
import pytest
import yaml

from taximeter.layout import DataFolder
from taximeter.testing import Programs, programs
from warehouse.access import Access
from warehouse.testing import serve, store, write_block
from warehouse.testing_rows import in_trace, llm, spans


def price(file: Path, usd: int) -> None:
    row = {"model": "m", "from": date(2026, 1, 1), "input_usd_per_mtok": usd, "output_usd_per_mtok": 0}
    file.write_text(yaml.safe_dump({"tokens": [row]}), encoding="utf-8")


@pytest.fixture(name="running")
def _running(tmp_path: Path) -> Iterator[Programs]:
    price(tmp_path / "prices.yaml", 1)
    config = tmp_path / "taximeter.yaml"
    config.write_text(yaml.safe_dump({"prices": {"file": "prices.yaml"}}), encoding="utf-8")
    folder = DataFolder(tmp_path / "data").make()
    call = llm("call", 1, 2, tokens=(1_000_000, 0), model_requested="m")
    write_block(folder, "test", 0, {"spans": spans(*in_trace("1" * 32, [call]))["spans"]})
    with programs(tmp_path / "data", config) as started:
        started.start("warehouse")
        started.wait_until(lambda: bool(started.report("tasks")), 30)
        yield started


def test_a_running_warehouse_prices_again(running: Programs, tmp_path: Path) -> None:
    """The command shows what would change, writes only when told to, and needs nothing stopped."""
    price(tmp_path / "prices.yaml", 3)
    config = ("--config", str(tmp_path / "taximeter.yaml"))
    command = ("reprice", "--since", "2020-01-01", "-f", "json", *config)

    shown = running.command(*command)
    before = running.report("tasks")[0]["token_cost_usd"]
    written = running.command(*command, "--yes")
    after = running.report("tasks")[0]["token_cost_usd"]

    assert json.loads(shown.stdout) == json.loads(written.stdout) != []
    assert (float(before), float(after)) == (1, 3)
    assert json.loads(running.command(*command).stdout) == []


def test_a_bad_range_is_told_and_changes_nothing(running: Programs) -> None:
    """The server reads what it is asked before anything waits."""
    answer = httpx.post(f"{running.warehouse_url}/v1/reprice", json={"since": "soon", "write": True})

    assert (answer.status_code, "no instant" in answer.json()["error"]) == (400, True)
    form = httpx.post(f"{running.warehouse_url}/v1/reprice", content=b'{"since": "7d", "write": true}')
    assert form.status_code == 422


@pytest.mark.parametrize(("token", "status"), [("admin", 503), ("reader", 403), ("writer", 403), (None, 401)])
def test_only_an_admin_changes_figures(tmp_path: Path, token: str | None, status: int) -> None:
    """A token that may read may not price again; the admin's request gets as far as the writing thread."""
    access = Access(readers=("reader", "admin"), others=("writer",), admins=("admin",))
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    with store(tmp_path) as warehouse, serve(warehouse, access) as url:
        answer = httpx.post(f"{url}/v1/reprice", json={"since": "7d"}, headers=headers)

    assert answer.status_code == status
