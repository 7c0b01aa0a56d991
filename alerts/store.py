"""States and outbox on disk: what fires is remembered in the same transaction as what is to be told.

An outbox row is one notification for one channel. It stays until it was delivered, so that a crash between
storing and sending, or between sending and noting so, loses nothing; the latter sends once more, with the
same idempotency key.
"""

import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, NamedTuple

from alerts.notification import Notification
from alerts.states import Labels, State
from taximeter.errors import BusyError

_SCHEMA = """
create table if not exists states (
    rule text not null, labels text not null, state text not null, primary key (rule, labels)
);
create table if not exists outbox (
    id integer primary key,
    channel text not null,
    idempotency_key text not null,
    alert_key text not null,
    body text not null,
    created_ns integer not null,
    next_ns integer not null,
    attempts integer not null default 0,
    delivered_ns integer,
    last_error text,
    unique (channel, idempotency_key)
);
create index if not exists outbox_due on outbox (next_ns) where delivered_ns is null;
"""
# Of one alert only the oldest notification is due: nobody hears that it is over before hearing of it.
_DUE = """
select id, channel, body, attempts from outbox as mine
where delivered_ns is null and next_ns <= ? and not exists (
    select 1 from outbox as older where older.delivered_ns is null and older.id < mine.id
    and older.channel = mine.channel and older.alert_key = mine.alert_key)
order by id
"""


class Due(NamedTuple):
    """A notification that waits for one channel; `attempts` so far all failed."""

    id: int
    channel: str
    notification: Notification
    attempts: int


class AlertStore:
    """The one database of the alerts; one process at a time has it."""

    def __init__(self, path: Path) -> None:
        """Open it, or make it.

        Raises:
            BusyError: another process watches the rules of this data folder.
        """
        self._lock = _lock(path.with_name(f"{path.name}.lock"))
        self._database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._database.execute("pragma journal_mode = wal")
        self._database.execute("pragma synchronous = full")
        self._database.executescript(_SCHEMA)

    def close(self) -> None:
        """Let the next process have it."""
        self._database.close()
        self._lock.close()

    def states(self, rule: str) -> dict[Labels, State]:
        """Read the alerts of a rule that are not inactive."""
        rows = self._database.execute("select labels, state from states where rule = ?", (rule,))
        return {_labels(labels): _state(state) for labels, state in rows}

    def rules(self) -> set[str]:
        """Name the rules that have alerts; a rule that was taken away may still be among them."""
        return {name for (name,) in self._database.execute("select distinct rule from states")}

    def save(
        self,
        rule: str,
        states: Mapping[Labels, State],
        notifications: Iterable[tuple[str, Notification]],
        now_ns: int,
    ) -> None:
        """Replace a rule's states and add what is to be told, by channel, in one transaction."""
        with _transaction(self._database):
            self._database.execute("delete from states where rule = ?", (rule,))
            self._database.executemany(
                "insert into states values (?, ?, ?)",
                [(rule, json.dumps(labels), _dump(state)) for labels, state in states.items()],
            )
            self._database.executemany(
                "insert or ignore into outbox"
                " (channel, idempotency_key, alert_key, body, created_ns, next_ns) values (?, ?, ?, ?, ?, ?)",
                [
                    (channel, told.idempotency_key, told.alert_key, told.model_dump_json(), now_ns, now_ns)
                    for channel, told in notifications
                ],
            )

    def due(self, now_ns: int) -> list[Due]:
        """List what should be sent now, oldest first."""
        rows = self._database.execute(_DUE, (now_ns,)).fetchall()
        return [
            Due(id_, channel, Notification.model_validate_json(body), attempts)
            for id_, channel, body, attempts in rows
        ]

    def delivered(self, due: Due, now_ns: int) -> None:
        """Note that a notification arrived."""
        self._database.execute(
            "update outbox set delivered_ns = ?, attempts = attempts + 1, last_error = null where id = ?",
            (now_ns, due.id),
        )

    def failed(self, due: Due, reason: str, next_ns: int) -> None:
        """Note that it did not, why, and when to try again."""
        self._database.execute(
            "update outbox set attempts = attempts + 1, last_error = ?, next_ns = ? where id = ?",
            (reason, next_ns, due.id),
        )

    def forget_delivered(self, before_ns: int) -> None:
        """Drop what was delivered before an instant."""
        self._database.execute("delete from outbox where delivered_ns < ?", (before_ns,))

    def waiting(self) -> list[tuple[str, str, int, str | None]]:
        """List what was not delivered yet: channel, rule, attempts, the last error."""
        rows = self._database.execute(
            "select channel, json_extract(body, '$.rule'), attempts, last_error from outbox"
            " where delivered_ns is null order by id"
        )
        return rows.fetchall()


@contextmanager
def _transaction(database: sqlite3.Connection) -> Iterator[None]:
    database.execute("begin immediate")
    try:
        yield
    except BaseException:
        database.execute("rollback")
        raise
    database.execute("commit")


def _lock(path: Path) -> IO[bytes]:
    file = path.open("ab")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        message = f"another process watches the rules of {path.parent}; stop it first"
        raise BusyError(message) from None
    return file


def _labels(text: str) -> Labels:
    return tuple((name, value) for name, value in json.loads(text))


def _dump(state: State) -> str:
    return json.dumps({**state._asdict(), "bad": sorted(state.bad), "members": sorted(state.members)})


def _state(text: str) -> State:
    values = json.loads(text)
    return State(**{**values, "bad": frozenset(values["bad"]), "members": frozenset(values["members"])})
