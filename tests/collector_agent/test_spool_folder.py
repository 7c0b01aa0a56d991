"""What waits on disk: it outlives the agent, stays in order, is bounded, and belongs to one agent."""

import time
from pathlib import Path

import pytest

from collector.agent.outbox import Outbox
from collector.agent.spool import FolderSpool
from collector.agent.testing import Receiver, serving
from taximeter.clock import SYSTEM_CLOCK
from taximeter.errors import BusyError, SettingsError


def bodies(spool: FolderSpool) -> list[bytes]:
    found = []
    while waiting := spool.first():
        found.append(waiting.body)
        spool.done(waiting.place)
    return found


def test_what_a_program_left_goes_first_in_order(tmp_path: Path) -> None:
    """A new agent finds what the old one could not deliver, and puts its own behind it."""
    first = FolderSpool(tmp_path / "s")
    assert [first.put(body) for body in (b"1", b"2")] == [0, 0]
    first.close()
    second = FolderSpool(tmp_path / "s")
    assert len(second) == 2
    second.put(b"3")
    assert bodies(second) == [b"1", b"2", b"3"]
    second.close()


def test_a_half_written_request_is_no_request(tmp_path: Path) -> None:
    """What was being written when the power went is passed over; so is a file that cannot be read."""
    spool = FolderSpool(tmp_path / "s")
    spool.put(b"1")
    spool.put(b"2")
    spool.close()
    (tmp_path / "s" / "000000000007.otlp.part").write_bytes(b"half")
    (tmp_path / "s" / "000000000000.otlp.gz").unlink()
    (tmp_path / "s" / "000000000000.otlp.gz").mkdir()
    again = FolderSpool(tmp_path / "s")
    assert bodies(again) == [b"2"]
    again.close()


def test_the_oldest_makes_room_and_is_counted(tmp_path: Path) -> None:
    """At the limit the newest stays; what went is told."""
    spool = FolderSpool(tmp_path / "s", limit_bytes=10)
    assert [spool.put(bytes([n]) * 4) for n in range(4)] == [0, 0, 1, 1]
    assert bodies(spool) == [b"\2" * 4, b"\3" * 4]
    spool.close()


def test_one_folder_is_one_agents(tmp_path: Path) -> None:
    """A second agent on the same folder is refused, and may have it once the first let go."""
    spool = FolderSpool(tmp_path / "s")
    with pytest.raises(BusyError, match="another agent"):
        FolderSpool(tmp_path / "s")
    spool.close()
    FolderSpool(tmp_path / "s").close()


def test_a_folder_that_cannot_be_is_a_mistake_told(tmp_path: Path) -> None:
    """A file where the folder should be is an error that says what to choose."""
    (tmp_path / "s").touch()
    with pytest.raises(SettingsError, match="choose another folder"):
        FolderSpool(tmp_path / "s")


def test_nobody_but_its_owner_reads_it(tmp_path: Path) -> None:
    """Samples name hosts and pods: the folder is its owner's alone."""
    FolderSpool(tmp_path / "s").close()
    assert (tmp_path / "s").stat().st_mode & 0o777 == 0o700


def test_an_outage_of_the_collector_loses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    """Sent while nobody listens, kept over a restart of the agent, delivered once and in order."""
    with serving(Receiver()) as receiver:
        url = receiver.url
    port = int(url.rpartition(":")[2])
    outbox = Outbox(url, SYSTEM_CLOCK, lambda _: None, spool=FolderSpool(tmp_path / "s"))
    outbox.open()
    for _ in range(3):
        outbox.put(b"")
    assert outbox.close(0.3) == 3
    again = Outbox(url, SYSTEM_CLOCK, lambda _: None, spool=FolderSpool(tmp_path / "s"))
    with serving(Receiver(), port) as receiver:
        again.open()
        again.put(b"")
        assert receiver.wait_for(4)
        time.sleep(0.2)
        assert again.close(5) == 0
        assert len(receiver.requests) == 4
