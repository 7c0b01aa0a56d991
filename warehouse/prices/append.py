"""Adding rows to the user's price file: at the end of their list; every line that is there stays as it is."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

import yaml

from taximeter.errors import BadInputError
from warehouse.prices import user_file

Section = Literal["tokens", "gpus"]
Row = Mapping[str, object]


def append(file: Path, section: Section, rows: Sequence[Row]) -> None:
    """Write rows at the end of a section of a price file, which is made where it is missing.

    The file is replaced at once or not at all. No row that is there changes.

    Args:
        file: the price file.
        section: `tokens` or `gpus`.
        rows: what `warehouse.prices.user_file` reads; prices as text, so that they keep their digits.

    Raises:
        SettingsError: the file cannot be used, or a row contradicts one that is there.
        BadInputError: the list is written in brackets, so that no line can be added to it.
    """
    old = file.read_text(encoding="utf-8") if file.exists() else ""
    before = user_file.parse(old, file)
    new = _with_rows(old, section, rows, file)
    after = user_file.parse(new, file)
    if not _only_adds(before, after, section, len(rows)):
        message = f"{file}: its {section} cannot be added to line by line; write one row per line"
        raise BadInputError(message)
    draft = file.with_name(f"{file.name}.new")
    draft.write_text(new, encoding="utf-8")
    if file.exists():
        draft.chmod(file.stat().st_mode)
    draft.replace(file)


def _with_rows(text: str, section: Section, rows: Sequence[Row], file: Path) -> str:
    lines = text.splitlines()
    place, indent = _end_of(text, section, file)
    written = [f"{indent}- {_flow(row)}" for row in rows]
    if place is None:
        lines += [f"{section}:", *written]
    else:
        lines[place:place] = written
    return "\n".join(lines) + "\n"


def _end_of(text: str, section: Section, file: Path) -> tuple[int | None, str]:
    """Find the line behind the last row of a section and the indent of its rows; None without a section."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    pairs = root.value if isinstance(root, yaml.MappingNode) else []
    rows = next((value for key, value in pairs if key.value == section), None)
    if rows is None:
        return None, ""
    if not isinstance(rows, yaml.SequenceNode) or rows.flow_style or not rows.value:
        message = f"{file}: write {section} as a list with one row per line, or leave it out"
        raise BadInputError(message)
    lines = text.splitlines()
    place = min(rows.end_mark.line, len(lines)) if rows.end_mark.column == 0 else len(lines)
    while _is_empty(lines[place - 1]):
        place -= 1
    return place, " " * rows.start_mark.column


def _is_empty(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")


def _flow(row: Row) -> str:
    text: str = yaml.safe_dump(
        dict(row), default_flow_style=True, sort_keys=False, width=10_000, allow_unicode=True
    )
    return text.strip()


def _only_adds(
    before: user_file.UserPrices, after: user_file.UserPrices, section: Section, count: int
) -> bool:
    was, now = list(getattr(before, section)), list(getattr(after, section))
    rest: Section = "gpus" if section == "tokens" else "tokens"
    rest_stays = getattr(before, rest) == getattr(after, rest)
    return rest_stays and now[: len(was)] == was and len(now) == len(was) + count
