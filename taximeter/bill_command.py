"""`taximeter bill`: what was invoiced, beside what the meter explains of it."""

from pathlib import Path
from typing import Annotated

import typer

from taximeter import import_command

app = typer.Typer(
    help="Invoices: read them, then ask `taximeter report reconciliation`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def bill() -> None:
    """Read invoices and compare them with what the meter knows."""


@app.command(name="import")
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Bills as CSV with FOCUS columns, compressed or not")],
    config: Annotated[Path | None, typer.Option("--config", "-c", help="Settings file")] = None,
    data: Annotated[Path | None, typer.Option("--data", "-d", help="Data folder")] = None,
) -> None:
    """Read a bill. The same file counts once; a newer file for the same account and month replaces the older.

    Example: taximeter bill import focus-2026-11.csv && taximeter report reconciliation --since 2026-11-01
    """
    raise typer.Exit(import_command.run(paths, config, data))
