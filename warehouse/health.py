"""Whether the meter runs, told without asking the database: for supervisors and load balancers."""

from importlib.metadata import version
from typing import Any

from taximeter.clock import NS_PER_S, Clock, to_datetime
from taximeter.layout import DataFolder
from warehouse.inbox import look
from warehouse.keeper import Progress


def tell_health(progress: Progress, folder: DataFolder, clock: Clock) -> dict[str, Any]:
    """Tell how loading and refreshing go.

    `is_current` means that every block that arrived is in the figures. `lag_s` is the age of the oldest block
    that waits, 0 where none does; `refreshed_at` is null until the first refresh.
    """
    intake = look(folder)
    now_ns = clock.now_ns()
    waited_ns = now_ns - (intake.oldest_waiting_ns or now_ns)
    refreshed_ns = progress.refreshed_ns
    return {
        "status": "ok" if progress.failure is None else "failing",
        "failure": progress.failure,
        "version": version("taximeter"),
        "blocks_loaded": progress.loaded_blocks,
        "blocks_waiting": intake.blocks_waiting,
        "lag_s": max(0, waited_ns) / NS_PER_S,
        "is_current": not intake.blocks_waiting and not progress.is_behind,
        "refreshed_at": to_datetime(refreshed_ns).isoformat() if refreshed_ns is not None else None,
        "refresh_took_s": progress.refresh_took_s,
    }
