"""Whether the meter runs, told without asking the database: for supervisors and load balancers."""

from importlib.metadata import version
from pathlib import Path
from typing import Any

from taximeter.clock import NS_PER_S, Clock, to_datetime
from taximeter.layout import DataFolder
from warehouse.inbox import waiting
from warehouse.keeper import Progress


def tell_health(progress: Progress, folder: DataFolder, clock: Clock) -> dict[str, Any]:
    """Tell how loading and refreshing go.

    `is_current` means that every block that arrived is in the figures. `lag_s` is the age of the oldest block
    that waits, 0 where none does; `refreshed_at` is null until the first refresh.
    """
    blocks = waiting(folder.inbox)
    oldest_ns = min((age for age in map(_arrived_ns, blocks) if age is not None), default=clock.now_ns())
    refreshed_ns = progress.refreshed_ns
    return {
        "status": "ok" if progress.failure is None else "failing",
        "failure": progress.failure,
        "version": version("taximeter"),
        "blocks_loaded": progress.loaded_blocks,
        "blocks_waiting": len(blocks),
        "lag_s": max(0.0, (clock.now_ns() - oldest_ns) / NS_PER_S),
        "is_current": not blocks and not progress.is_behind,
        "refreshed_at": to_datetime(refreshed_ns).isoformat() if refreshed_ns is not None else None,
        "refresh_took_s": progress.refresh_took_s,
    }


def _arrived_ns(block: Path) -> int | None:
    try:
        return block.stat().st_mtime_ns
    except FileNotFoundError:  # it was loaded meanwhile
        return None
