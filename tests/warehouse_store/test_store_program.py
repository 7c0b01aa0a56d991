"""The program: it loads within a second, ends when asked, and loses nothing however it ends."""

import itertools
import json
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pyarrow as pa
import pytest

import warehouse
from taximeter.clock import ManualClock
from taximeter.errors import BusyError, NotFoundError, TaximeterError
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.__main__ import main
from warehouse.client import Client
from warehouse.testing import store, write_block

PATIENCE_S = 60
KILLS = 12
BLOCKS_PER_KILL = 8


# Processes are forked from one that has imported the program already: real processes that are quick to start.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["warehouse.__main__"])


class Program:
    """The warehouse's own process on a data folder."""

    def __init__(self, folder: DataFolder) -> None:
        self.folder = folder
        arguments = ["--data", str(folder.root), "--port", "0"]
        self.process = FORKS.Process(target=_run_program, args=(arguments, folder.root / "said"))
        self.process.start()

    def wait_until_ready(self) -> Client:
        until(lambda: self.pid_told() == self.process.pid)
        return Client(json.loads(self.folder.server.read_text())["url"])

    def pid_told(self) -> int | None:
        try:
            return int(json.loads(self.folder.server.read_text())["pid"])
        except FileNotFoundError:
            return None

    def end(self, number: int) -> int:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)
        self.process.join(PATIENCE_S)
        assert self.process.exitcode is not None
        return self.process.exitcode


def _run_program(arguments: list[str], said: Path) -> None:
    with said.open("a", buffering=1) as sys.stderr:
        sys.exit(main(arguments))


@contextmanager
def running(folder: DataFolder) -> Iterator[Program]:
    program = Program(folder)
    try:
        yield program
    finally:
        if program.process.is_alive():
            program.end(signal.SIGKILL)
        program.process.close()


def refusal(key: str) -> dict[str, pa.Table]:
    """Rows of a kind that needs no model: they are visible as soon as they are loaded."""
    return {"refused": pa.table({"source": [key, key], "value": ["1", "2"], "received_ns": [1, 1]})}


def until(condition: Callable[[], bool]) -> float:
    """Wait for a condition and tell how many seconds that took."""
    started_s = time.monotonic()
    while not condition():
        assert time.monotonic() - started_s < PATIENCE_S
        time.sleep(0.01)
    return time.monotonic() - started_s


def sources(client: Client) -> list[str]:
    return sorted(client.report("refused", max_rows=1_000_000).column("source").to_pylist())


def test_a_block_is_visible_soon_and_the_end_is_clean(tmp_path: Path) -> None:
    """The program says where it answers, shows a block soon, and leaves nothing behind on SIGTERM."""
    folder = DataFolder(tmp_path).make()
    with running(folder) as program:
        client = program.wait_until_ready()
        told = json.loads(folder.server.read_text())
        write_block(folder, "j", 0, refusal("first"))
        until(lambda: sources(client) == ["first", "first"])
        until((folder.loaded / "j").exists)
        pid = program.process.pid
        status = program.end(signal.SIGTERM)

    assert (told["pid"], status) == (pid, 0)
    assert (tmp_path / "said").read_text() == f"taximeter warehouse: ready at {told['url']}\n"
    assert not folder.server.exists()
    assert (folder.loaded / "j").read_text() == "0\n"
    with store(tmp_path) as opened:
        assert opened.sql("select count(*) from refused") == [(2,)]


def test_killed_at_any_moment_nothing_is_lost_and_nothing_counts_twice(tmp_path: Path) -> None:
    """Ended by kill -9 at random moments while blocks arrive, it has every row exactly once in the end."""
    folder = DataFolder(tmp_path).make()
    chance = random.Random(20_261_201)
    sequences = itertools.count()
    sent: list[int] = []
    for _ in range(KILLS):
        with running(folder) as program:
            if chance.random() < 0.7:
                program.wait_until_ready()
            for sequence in itertools.islice(sequences, BLOCKS_PER_KILL):
                write_block(folder, "j", sequence, refusal(f"{sequence:06}"))
                if sent and chance.random() < 0.3:  # decode sends a block again after its own crash
                    with suppress(OSError):
                        again = chance.choice(sent)
                        write_block(folder, "j", again, refusal(f"{again:06}"))
                sent.append(sequence)
                time.sleep(chance.random() * 0.06)
            program.end(signal.SIGKILL)

    with running(folder) as program:
        client = program.wait_until_ready()
        until(lambda: not any(folder.inbox.iterdir()))
        found = sources(client)
        program.end(signal.SIGTERM)
    assert found == sorted(2 * [f"{sequence:06}" for sequence in sent])
    assert (folder.loaded / "j").read_text() == f"{len(sent) - 1}\n"
    assert list(folder.quarantine.iterdir()) == []


def test_one_folder_has_one_warehouse(tmp_path: Path) -> None:
    """A second program on the same folder ends with one line that says who holds it; the first goes on."""
    folder = DataFolder(tmp_path).make()
    with running(folder) as first:
        client = first.wait_until_ready()
        with running(folder) as second:
            second.process.join(PATIENCE_S)
            assert second.process.exitcode == 1
        assert client.is_up()
        assert first.pid_told() == first.process.pid
        told = (tmp_path / "said").read_text().splitlines()
        assert len(told) == 2
        assert f"is held by process {first.process.pid}; it answers at http://127.0.0.1:" in told[1]
        first.end(signal.SIGTERM)


def test_a_public_address_needs_a_token(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The program refuses to listen for everybody without a token, before it touches anything."""
    assert main(["--data", str(tmp_path), "--host", "0.0.0.0"]) == 2

    assert "name a token" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_asks_the_server_or_opens_the_folder(tmp_path: Path) -> None:
    """The same question has the same answer with a server, without one, and after a server was killed."""
    folder = DataFolder(tmp_path).make()
    settings = Settings(data=tmp_path)
    write_block(folder, "j", 0, refusal("first"))
    alone = warehouse.answer(settings, "refused", {}, "json")
    with running(folder) as program:
        client = program.wait_until_ready()
        until(lambda: sources(client) == ["first", "first"])
        asked = warehouse.answer(settings, "refused", {}, "json")
        with pytest.raises(BusyError, match="held by process"):
            warehouse.load_once(settings)
        program.end(signal.SIGKILL)
    left = folder.server.exists()
    write_block(folder, "j", 1, refusal("second"))
    after = warehouse.ask(settings, "refused", {"since": None})

    assert alone == asked
    assert left
    assert sorted(after.column("source").to_pylist()) == ["first", "first", "second", "second"]


def test_loading_once_says_what_it_did(tmp_path: Path) -> None:
    """Without a server the import command loads what waits and refreshes, and can do so again."""
    folder = DataFolder(tmp_path).make()
    write_block(folder, "j", 0, refusal("first"))
    clock = ManualClock(1_800_000_000_000_000_000)
    settings = Settings(data=tmp_path)

    assert warehouse.load_once(settings, clock).loaded == 1
    assert warehouse.load_once(settings, clock).blocks == 0
    health = warehouse.ask(settings, "health", {}, clock=clock).to_pylist()
    assert next(row for row in health if row["check"] == "refresh_age")["value"] == 0


def test_a_folder_without_data_is_told_and_not_made(tmp_path: Path) -> None:
    """Asking for a report where nothing is creates nothing and says what to do."""
    with pytest.raises(NotFoundError, match="no data in"):
        warehouse.answer(Settings(data=tmp_path / "nothing"), "health", {}, "json")
    with pytest.raises(TaximeterError, match="there is no report"):
        warehouse.answer(Settings(data=tmp_path), "nothing", {}, "json")

    assert list(tmp_path.iterdir()) == []


def test_reports_are_listed_with_their_grain() -> None:
    """The list has one line per report."""
    lines = warehouse.list_reports().splitlines()

    assert any(
        line.split(maxsplit=1) == ["refused", "thing that was not taken, the latest first"] for line in lines
    )
    with pytest.raises(AttributeError, match="nothing"):
        warehouse.nothing  # noqa: B018
