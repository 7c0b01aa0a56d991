"""Keeps the warehouse up to date: loads what arrives, refreshes the figures, asks the laws, and again."""

import math
from collections.abc import Callable
from typing import NamedTuple

import duckdb

from taximeter.clock import NS_PER_S, Clock
from taximeter.layout import DataFolder
from taximeter.settings import Settings
from warehouse.errands import Errands
from warehouse.inbox import waiting
from warehouse.laws import check_laws, describe, keep_results
from warehouse.load import load
from warehouse.queries import query
from warehouse.refresh import refresh

LOOK_EVERY_S = 0.1
PASS_TIME_EVERY_S = 30.0
# A refresh costs half a second of a core whatever is new: what comes right after one waits this long.
SPANS_GATHER_S = 1.0
SAMPLES_GATHER_S = 5.0
LOAD_FOR_S = 1.0
# A flood (a backlog, an import) is shown when it is over, or after that long: a refresh of part of it would
# compute the same quarter-hours again.
FLOOD_ROWS = 20_000
FLOOD_OVER_S = 1.0
FLOOD_SHOWN_EVERY_S = 10.0
AFTER_FAILURE_S = 2.0
# Laws read whole tables: they may use this share of the time and no more.
LAW_SHARE = 0.05
# DuckDB closes a database that met these; only opening it again helps.
_FATAL = (duckdb.FatalException, duckdb.InternalException)


class Progress(NamedTuple):
    """How far the keeper is; handed out whole, so that readers on other threads see one state."""

    loaded_blocks: int = 0
    refreshed_ns: int | None = None
    refresh_took_s: float = 0.0
    is_behind: bool = True  # something was loaded that the figures do not show yet
    failure: str | None = None


class _Flood(NamedTuple):
    """What was loaded since the figures were last brought up to date."""

    rows: int = 0
    first_s: float = math.inf
    last_s: float = -math.inf

    def plus(self, rows: int, now_s: float) -> "_Flood":
        """Count a load."""
        return _Flood(self.rows + rows, min(self.first_s, now_s), now_s)

    def is_on(self, now_s: float) -> bool:
        """Tell whether so much is arriving that figures should wait for the rest of it."""
        return (
            self.rows >= FLOOD_ROWS
            and now_s - self.last_s < FLOOD_OVER_S
            and now_s - self.first_s < FLOOD_SHOWN_EVERY_S
        )


class Keeper:
    """Owns all writing to one open database; one thread calls it."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        settings: Settings,
        clock: Clock,
        say: Callable[[str], None],
    ) -> None:
        """Write through `connection`; `say` gets one line per failure and per law that breaks."""
        self._connection = connection
        self._settings = settings
        self._folder = DataFolder(settings.data)
        self._clock = clock
        self._say = say
        self._refresh_at_s = -math.inf
        self._laws_at_s = -math.inf
        self._flood = _Flood()
        self._broken: list[str] = []
        self.errands = Errands()
        self.progress = Progress()

    def turn(self) -> float:
        """Load what waits, refresh if due, run errands; tell how many seconds may pass until the next turn.

        A failure is told and kept in `progress`; the next turn tries again.

        Raises:
            duckdb.Error: the database closed itself and must be opened again.
        """
        try:
            self._load()
            self._refresh_if_due()
            self.errands.do(self._connection)
        except _FATAL:
            raise
        except Exception as error:  # noqa: BLE001 - whatever one turn meets, the next one must come
            told = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
            if told != self.progress.failure:
                self._say(f"warehouse: {told}")
            self.progress = self.progress._replace(failure=told)
            return AFTER_FAILURE_S
        return LOOK_EVERY_S

    def _load(self) -> None:
        end_s = self._clock.monotonic_s() + LOAD_FOR_S
        while waiting(self._folder.inbox):
            # Told before the blocks go: nobody may see an empty inbox and take the figures for current.
            self.progress = self.progress._replace(is_behind=True)
            done = load(self._connection, self._folder, self._clock.now_ns())
            self.progress = self.progress._replace(loaded_blocks=self.progress.loaded_blocks + done.blocks)
            self._flood = self._flood.plus(done.rows, self._clock.monotonic_s())
            if done.quarantined:
                self._say(
                    f"warehouse: {done.quarantined} blocks could not be read; see {self._folder.quarantine}"
                )
            if self._clock.monotonic_s() > end_s:
                break

    def _refresh_if_due(self) -> None:
        now_s = self._clock.monotonic_s()
        if self._flood.is_on(now_s) or now_s - self._refresh_at_s < self._pause_s():
            return
        done = refresh(self._connection, self._settings, self._clock)
        self._refresh_at_s = self._clock.monotonic_s()
        self._flood = _Flood()
        self.progress = self.progress._replace(
            refreshed_ns=done.now_ns,
            refresh_took_s=done.took_ns / NS_PER_S,
            is_behind=False,
            failure=None,
        )
        if self._refresh_at_s >= self._laws_at_s:
            self._ask_laws()

    def _pause_s(self) -> float:
        """Tell how long figures may be left alone: new spans are wanted now, samples alone may gather."""
        took_s = self.progress.refresh_took_s
        if not self.progress.is_behind:
            return PASS_TIME_EVERY_S
        if self._has_new_spans():
            return max(took_s, min(3 * took_s, SPANS_GATHER_S))
        return max(SAMPLES_GATHER_S, 4 * took_s)

    def _has_new_spans(self) -> bool:
        with self._connection.cursor() as cursor:
            row = cursor.execute(query("refresh/has_new_spans")).fetchone()
        return bool(row and row[0])

    def _ask_laws(self) -> None:
        started_s = self._clock.monotonic_s()
        with self._connection.cursor() as cursor:
            broken = check_laws(cursor)
            keep_results(cursor, broken, self._clock.now_ns())
        ended_s = self._clock.monotonic_s()
        self._laws_at_s = ended_s + (ended_s - started_s) / LAW_SHARE
        lines = list(describe(broken))
        for line in lines:
            if line not in self._broken:
                self._say(f"warehouse: law broken: {line}")
        self._broken = lines
