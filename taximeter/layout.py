"""Where things lie in the data folder, and who owns each."""

from pathlib import Path
from typing import NamedTuple


class DataFolder(NamedTuple):
    """The data folder of one installation."""

    root: Path

    @property
    def journal(self) -> Path:
        """Raw requests until they are loaded; owned by the collector's edge, mode 0700."""
        return self.root / "journal"

    @property
    def inbox(self) -> Path:
        """Blocks of rows for the warehouse, one folder each; anyone may add by atomic rename."""
        return self.root / "inbox"

    @property
    def staging(self) -> Path:
        """Blocks being written; on the same file system as the inbox, so that a rename is atomic."""
        return self.root / "staging"

    @property
    def quarantine(self) -> Path:
        """What could not be decoded or loaded, kept for a person to look at; mode 0700."""
        return self.root / "quarantine"

    @property
    def loaded(self) -> Path:
        """One file per journal: the highest sequence up to which every block is loaded."""
        return self.root / "loaded"

    def wanted_again(self, journal: str) -> Path:
        """Blocks of a journal that arrived damaged: an empty file each, named by its sequence.

        The warehouse asks by it, and the collector, which has the requests until they are loaded, answers.
        """
        return self.loaded / f"{journal}.again"

    def journal_here(self) -> str | None:
        """Name the journal of the collector that writes to this folder; none where there was never one."""
        try:
            return (self.journal / "name").read_text(encoding="ascii").strip()
        except OSError:
            return None

    @property
    def database(self) -> Path:
        """The one database file; owned by the warehouse."""
        return self.root / "taximeter.duckdb"

    @property
    def server(self) -> Path:
        """Tells the command line that a warehouse serves this folder: JSON with url and pid."""
        return self.root / "warehouse.json"

    @property
    def content_key(self) -> Path:
        """The key of content hashes, made once per installation; mode 0600."""
        return self.root / "content.key"

    @property
    def alerts(self) -> Path:
        """States and outbox of the alerts; owned by the alerts."""
        return self.root / "alerts.sqlite"

    @property
    def logs(self) -> Path:
        """What the programs said, one file each, when one supervisor started them."""
        return self.root / "logs"

    def make(self) -> "DataFolder":
        """Make the folders that are missing; those that may hold prompts are closed to others."""
        for folder in (self.root, self.inbox, self.staging, self.loaded, self.logs):
            folder.mkdir(parents=True, exist_ok=True)
        for folder in (self.journal, self.quarantine):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
        return self
