"""Putting rows into the user's price file: one by hand, or many from a price list."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import yaml

from taximeter.errors import BadInputError, SettingsError
from taximeter.settings import Settings
from warehouse.prices import gpu_csv, gpu_list, litellm, user_file
from warehouse.prices.append import Row, Section, append
from warehouse.prices.gpu_outliers import find_outliers
from warehouse.prices.rows import GpuPrice


class Taken(NamedTuple):
    """What became of rows: written, there before, or refused and why."""

    file: Path
    written: int
    present: int
    refused: list[str]


class Wanted(NamedTuple):
    """What to take from a price list, and what it does not say itself."""

    dated: str | None = None
    provider: str | None = None
    source: str | None = None
    models: str = "*"


def add(settings: Settings, section: Section, row: Row, *, anyway: bool = False) -> Taken:
    """Write one row at the end of the price file.

    Args:
        settings: name the file.
        section: `tokens` or `gpus`.
        row: its keys and values; None stands for a key that is left out.
        anyway: take a GPU price though it is far off what others ask.

    Raises:
        SettingsError: no price file is set, it cannot be used, or the row contradicts one that is there.
        BadInputError: the price is far off, and nobody said that it is right.
    """
    file = _file(settings)
    known = {key: value for key, value in row.items() if value is not None}
    taken = _take(file, section, [known], anyway=anyway)
    if taken.present:
        message = (
            f"{file} has a row for this from {known['from']}; a row is never overwritten, use a new date"
        )
        raise BadInputError(message)
    if taken.refused:
        message = f"{taken.refused[0]}; say --anyway if it is right"
        raise BadInputError(message)
    return taken


def import_list(settings: Settings, path: Path, wanted: Wanted) -> Taken:
    """Write the rows of a price list that are not there yet: SkyPilot's or a plain CSV, or LiteLLM's JSON.

    GPU rows are written with `default: false`: they are compared with and price no card.

    Raises:
        SettingsError: no price file is set, or it cannot be used.
        BadInputError: the list cannot be read, or nobody says when its prices held.
    """
    file = _file(settings)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError):
        message = f"{path} cannot be read as text"
        raise BadInputError(message) from None
    source = wanted.source or path.name
    if text.lstrip().startswith("{"):
        if wanted.dated is None:
            message = (
                "the table has no dates, and a price without one is refused; say when it held with --dated"
            )
            raise BadInputError(message)
        rows, refused = litellm.read(text, wanted.models, wanted.dated, source)
        section: Section = "tokens"
    else:
        given = gpu_csv.Given(wanted.dated, wanted.provider, source)
        rows, refused = gpu_csv.read(text.splitlines(), given)
        section = "gpus"
    taken = _take(file, section, rows, anyway=False)
    return taken._replace(refused=refused + taken.refused)


def _file(settings: Settings) -> Path:
    if settings.prices.file is None:
        message = "no price file is set; write `prices: {file: prices.yaml}` into taximeter.yaml"
        raise SettingsError(message)
    return settings.prices.file


def _take(file: Path, section: Section, rows: Sequence[Row], *, anyway: bool) -> Taken:
    before = user_file.read(file) if file.exists() else user_file.UserPrices([], [])
    arriving = user_file.parse(yaml.safe_dump({section: [dict(row) for row in rows]}), file)
    if section == "tokens":
        there = {_token_key(row) for row in before.tokens}
        new = [row for row, read in zip(rows, arriving.tokens, strict=True) if _token_key(read) not in there]
        refused: dict[int, str] = {}
    else:
        gpus_there = {_gpu_key(row) for row in before.gpus}
        kept = [
            (row, read)
            for row, read in zip(rows, arriving.gpus, strict=True)
            if _gpu_key(read) not in gpus_there
        ]
        refused = {} if anyway else _far_off([read for _, read in kept], before.gpus)
        new = [row for number, (row, _) in enumerate(kept) if number not in refused]
    if new:
        append(file, section, new)
    return Taken(file, len(new), len(rows) - len(new) - len(refused), list(refused.values()))


def _far_off(judged: Sequence[GpuPrice], own: Sequence[GpuPrice]) -> dict[int, str]:
    found = {outlier.row: outlier for outlier in find_outliers(judged, [*gpu_list.read(), *own, *judged])}
    return {
        number: f"{row.sku}, {row.kind}: {row.usd_per_gpu_hour.normalize():f} USD an hour is more than three "
        f"times off {found[row].median_usd.normalize():f}, the median of {found[row].sellers} others"
        for number, row in enumerate(judged)
        if row in found
    }


def _token_key(row: user_file.OwnTokenPrice) -> tuple[object, ...]:
    price = row.price
    return (
        row.provider,
        row.pattern,
        price.from_ns,
        price.service_tier,
        price.prompt_from_tokens,
        price.day_from_s,
        price.day_to_s,
    )


def _gpu_key(row: GpuPrice) -> tuple[object, ...]:
    return row.sku, row.provider, row.region, row.kind, row.from_ns
