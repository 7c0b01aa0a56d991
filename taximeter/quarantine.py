"""The bound on what is set aside: the oldest goes; that it was refused was told when it came."""

import shutil
from pathlib import Path

MOST_BYTES = 256 * 1024 * 1024


def trim(quarantine: Path, most_bytes: int = MOST_BYTES) -> int:
    """Delete the oldest entries, files or folders, until all that is left fits; the newest one always stays.

    Returns:
        how many entries were deleted.
    """
    entries = sorted(
        quarantine.iterdir(), key=lambda entry: (entry.stat().st_mtime_ns, entry.name), reverse=True
    )
    kept_bytes = deleted = 0
    for place, entry in enumerate(entries):
        kept_bytes += _size_bytes(entry)
        if place and kept_bytes > most_bytes:
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
            deleted += 1
    return deleted


def _size_bytes(entry: Path) -> int:
    files = entry.rglob("*") if entry.is_dir() else [entry]
    return sum(file.stat().st_size for file in files if file.is_file())
