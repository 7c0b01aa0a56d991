"""What an import did, file by file, and how that is told."""

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple, get_args

_REASONS_KEPT = 20
_HEADINGS: tuple[str, ...] = ("file", "", "format", "spans", "samples", "other", "refused")

Outcome = Literal["read", "skipped", "broken"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)


@dataclass
class FileResult:
    """What became of one file. `rows` counts by kind as in `warehouse.rows`, `refused` by reason."""

    path: Path
    outcome: Outcome = "read"
    format: str | None = None
    reasons: list[str] = field(default_factory=list)
    rows: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    reasons_left_out: int = 0
    blocks: int = 0

    def break_off(self, reason: str) -> None:
        """Note that something of the file could not be read; what was read stays."""
        self.outcome = "broken"
        if len(self.reasons) < _REASONS_KEPT:
            self.reasons.append(reason)
        else:
            self.reasons_left_out += 1


class ImportSummary(NamedTuple):
    """What became of every file, in the order they were read."""

    files: tuple[FileResult, ...]

    def count(self, outcome: Outcome) -> int:
        """Count the files that were read, skipped or broken."""
        return sum(result.outcome == outcome for result in self.files)

    @property
    def rows(self) -> Counter[str]:
        """Rows that went into the inbox, by kind."""
        return sum((result.rows for result in self.files), Counter())

    @property
    def refused(self) -> Counter[str]:
        """Rows and fields that were refused, by reason."""
        return sum((result.refused for result in self.files), Counter())

    @property
    def exit_status(self) -> int:
        """0 if something was read and nothing that was recognised is broken, else 1."""
        return 0 if self.count("read") and not self.count("broken") else 1

    def as_lines(self) -> list[str]:
        """Write a table of what was read and, below it, what was refused and why."""
        cells: list[tuple[str, ...]] = [("file", "", "format", "spans", "samples", "other", "refused")]
        cells += [_cells(result) for result in self.files if result.outcome != "skipped"]
        widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in cells] if len(cells) > 1 else []
        for result in self.files:
            lines += [f"{result.outcome} {result.path}: {reason}" for reason in result.reasons]
            if result.reasons_left_out:
                lines.append(f"{result.outcome} {result.path}: and {result.reasons_left_out} more")
        lines += [f"refused {count} times: {reason}" for reason, count in sorted(self.refused.items())]
        totals = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self.rows.items()))
        files = ", ".join(f"{self.count(outcome)} {outcome}" for outcome in OUTCOMES)
        return [*lines, f"files: {files}; rows: {totals or 'none'}"]


def _cells(result: FileResult) -> tuple[str, ...]:
    spans, samples = result.rows["spans"], result.rows["samples"]
    numbers = (spans, samples, result.rows.total() - spans - samples, result.refused.total())
    return (str(result.path), result.outcome, result.format or "", *(f"{number:,}" for number in numbers))
