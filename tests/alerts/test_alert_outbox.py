"""The outbox: once under normal operation, at least once under any, in order, and later each time."""

from collections.abc import Callable
from pathlib import Path

import pytest

from alerts.channels.target import UndeliverableError
from alerts.deliver import FIRST_WAIT_S, LONGEST_WAIT_S, deliver_due
from alerts.notification import Notification
from alerts.states import State
from alerts.store import AlertStore
from alerts.testing import START_NS
from taximeter.clock import NS_PER_S, ManualClock
from taximeter.errors import BusyError

Make = Callable[..., Notification]


class Flaky:
    """A channel that fails as often as it is told to and keeps what arrived."""

    def __init__(self, failures: int = 0, retry_after_s: float | None = None) -> None:
        self.failures = failures
        self.retry_after_s = retry_after_s
        self.arrived: list[str] = []

    def send(self, notification: Notification) -> None:
        if self.failures:
            self.failures -= 1
            reason = "gone"
            raise UndeliverableError(reason, self.retry_after_s)
        self.arrived.append(notification.idempotency_key)


def _store(tmp_path: Path) -> AlertStore:
    return AlertStore(tmp_path / "alerts.sqlite")


def test_what_was_delivered_is_not_delivered_again(tmp_path: Path, notification: Make) -> None:
    """Looking at the outbox again, also after a restart and a second save, sends nothing twice."""
    clock, channel = ManualClock(START_NS), Flaky()
    store = _store(tmp_path)
    store.save("r", {}, [("a", notification())], clock.now_ns())
    deliver_due(store, {"a": channel}, clock)
    deliver_due(store, {"a": channel}, clock)
    store.close()
    store = _store(tmp_path)
    store.save("r", {}, [("a", notification())], clock.now_ns())
    deliver_due(store, {"a": channel}, clock)
    store.close()

    assert channel.arrived == ["key-1"]


def test_what_was_stored_and_not_sent_survives_the_process(tmp_path: Path, notification: Make) -> None:
    """A process that dies between storing and sending leaves the sending to the next one."""
    clock, channel = ManualClock(START_NS), Flaky()
    first = _store(tmp_path)
    first.save("r", {}, [("a", notification())], clock.now_ns())
    first.close()

    second = _store(tmp_path)
    deliver_due(second, {"a": channel}, clock)
    second.close()

    assert channel.arrived == ["key-1"]


def test_each_failure_waits_twice_as_long_up_to_ten_minutes(tmp_path: Path, notification: Make) -> None:
    """Retries begin after seconds, never give up, and never come faster than every ten minutes at the end."""
    clock, channel = ManualClock(START_NS), Flaky(failures=10)
    store = _store(tmp_path)
    store.save("r", {}, [("a", notification())], clock.now_ns())
    waits = []
    while not channel.arrived:
        before = clock.now_ns()
        while not store.due(clock.now_ns()):
            clock.sleep(FIRST_WAIT_S)
        waits.append((clock.now_ns() - before) / NS_PER_S)
        deliver_due(store, {"a": channel}, clock)
    store.close()

    assert waits == [0, 5, 10, 20, 40, 80, 160, 320, LONGEST_WAIT_S, LONGEST_WAIT_S, LONGEST_WAIT_S]


def test_the_other_side_may_ask_for_more_time(tmp_path: Path, notification: Make) -> None:
    """A Retry-After that is longer than our own wait is kept."""
    clock, channel = ManualClock(START_NS), Flaky(failures=1, retry_after_s=90)
    store = _store(tmp_path)
    store.save("r", {}, [("a", notification())], clock.now_ns())
    deliver_due(store, {"a": channel}, clock)

    assert store.due(START_NS + 89 * NS_PER_S) == []
    assert len(store.due(START_NS + 90 * NS_PER_S)) == 1
    store.close()


def test_nobody_hears_that_it_is_over_before_hearing_of_it(tmp_path: Path, notification: Make) -> None:
    """While the first notification of an alert waits, later ones of it wait too; other alerts do not."""
    clock, channel = ManualClock(START_NS), Flaky(failures=1)
    store = _store(tmp_path)
    store.save("r", {}, [("a", notification(idempotency_key="fired"))], clock.now_ns())
    store.save("r", {}, [("a", notification(idempotency_key="over", status="resolved"))], clock.now_ns())
    store.save("s", {}, [("a", notification(idempotency_key="other", alert_key="2"))], clock.now_ns())

    deliver_due(store, {"a": channel}, clock)
    assert channel.arrived == ["other"]
    clock.sleep(FIRST_WAIT_S)
    deliver_due(store, {"a": channel}, clock)
    deliver_due(store, {"a": channel}, clock)
    store.close()

    assert channel.arrived == ["other", "fired", "over"]


def test_a_dead_channel_does_not_hold_up_the_others(tmp_path: Path, notification: Make) -> None:
    """Every channel has its own outbox rows, and a channel that left the settings is told as a failure."""
    clock, good = ManualClock(START_NS), Flaky()
    store = _store(tmp_path)
    told = notification()
    store.save("r", {}, [("bad", told), ("good", told), ("gone", told)], clock.now_ns())

    delivery = deliver_due(store, {"bad": Flaky(failures=99), "good": good}, clock)

    assert good.arrived == ["key-1"]
    assert delivery.arrived == 1
    assert delivery.failures == [
        "bad: gpu_idle: gone",
        "gone: gpu_idle: the settings name no such channel",
    ]
    assert store.waiting() == [
        ("bad", "gpu_idle", 1, "gone"),
        ("gone", "gpu_idle", 1, "the settings name no such channel"),
    ]
    store.close()


def test_states_come_back_as_they_were(tmp_path: Path) -> None:
    """A restart forgets no pending and no firing alert."""
    states = {
        (("deployment", "a"), ("team", None)): State("pending", 1, 2, 3),
        (): State("firing", 1, 2, 3, frozenset("x"), 4, 5, 6, frozenset({"x", "y"}), simulated=True),
    }
    store = _store(tmp_path)
    store.save("r", states, [], 0)
    store.close()

    store = _store(tmp_path)
    assert store.states("r") == states
    assert store.states("other") == {}
    store.close()


def test_only_one_process_watches_a_data_folder(tmp_path: Path) -> None:
    """A second one would tell everything twice; it is refused until the first is gone."""
    first = _store(tmp_path)
    with pytest.raises(BusyError, match="another process"):
        _store(tmp_path)
    first.close()

    _store(tmp_path).close()
