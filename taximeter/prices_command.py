"""`taximeter prices` and `taximeter reprice`: what things cost, and since when."""

import importlib
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taximeter import settings
from taximeter.errors import BadInputError
from taximeter.say import say

app = typer.Typer(
    help="The price book: dated rows for tokens and GPUs. Yours win, and none is ever overwritten.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="Settings file [taximeter.yaml if there]")
]
Data = Annotated[Path | None, typer.Option("--data", "-d", help="Data folder [from the settings]")]
Output = Annotated[str, typer.Option("--format", "-f", help="table, json, csv or parquet")]
Dated = Annotated[str | None, typer.Option("--from", help="From when it holds: 2026-11-01 (UTC)")]
Source = Annotated[str | None, typer.Option(help="Where the price stands, such as a contract")]


@app.command(name="list")
def list_(
    name: Annotated[str | None, typer.Argument(help="A model or a SKU, or a glob such as 'openai/*'")] = None,
    output: Output = "table",
    config: Config = None,
) -> None:
    """List price rows: yours and all GPUs, or what prices one model or card.

    Examples: taximeter prices list claude-sonnet-4-5;  taximeter prices list 'H100*' -f csv
    """
    content: bytes = _desk().show(settings.load(config), name, output)
    sys.stdout.buffer.write(content)


@app.command()
def check(config: Config = None, data: Data = None) -> None:
    """Find used models without a price, prices older than 90 days, and GPU prices that cannot be right.

    The exit status is 1 if money is missing or off.

    Example: taximeter prices check
    """
    findings = _desk().look(settings.load(config, data=data))
    for finding in findings:
        print(f"{finding.verdict:5}  {finding.what}: {finding.told}")  # noqa: T201 - the result
    raise typer.Exit(1 if any(finding.verdict == "wrong" for finding in findings) else 0)


@app.command()
def add(
    *,
    name: Annotated[str, typer.Argument(help="Model (a glob is fine) or SKU")],
    input_usd: Annotated[str | None, typer.Option("--input", help="USD per million input tokens")] = None,
    output_usd: Annotated[str | None, typer.Option("--output", help="USD per million output tokens")] = None,
    cache_read: Annotated[str | None, typer.Option(help="USD per million tokens read from the cache")] = None,
    cache_write: Annotated[str | None, typer.Option(help="USD per million tokens written to it")] = None,
    cache_write_1h: Annotated[str | None, typer.Option(help="The same, kept for an hour")] = None,
    service_tier: Annotated[
        str | None, typer.Option(help="Only in this tier: batch, flex, priority ...")
    ] = None,
    gpu_hour: Annotated[str | None, typer.Option(help="USD for one card for one hour")] = None,
    discount: Annotated[str | None, typer.Option(help="Share taken off a card's price: 0.3")] = None,
    provider: Annotated[str | None, typer.Option(help="Only for what this provider sells")] = None,
    kind: Annotated[str | None, typer.Option(help="on_demand, spot, reserved or marketplace")] = None,
    region: Annotated[str | None, typer.Option(help="Region of the card")] = None,
    dated: Dated = None,
    source: Source = None,
    anyway: Annotated[bool, typer.Option("--anyway", help="It is right though it is far off")] = False,
    config: Config = None,
) -> None:
    """Write one dated row at the end of your price file. What was priced keeps its price; see `reprice`.

    Examples: taximeter prices add 'our/qwen*' --input 0.2 --output 0.8 --from 2026-11-01;
    taximeter prices add H100-SXM --gpu-hour 3.2 --from 2026-11-01 --source "contract 17"
    """
    if dated is None:
        message = "a price without a date is refused; say from when it holds with --from 2026-11-01"
        raise BadInputError(message)
    told = {"from": dated, "provider": provider, "source": source}
    tokens = {
        "input_usd_per_mtok": input_usd,
        "output_usd_per_mtok": output_usd,
        "cache_read_usd_per_mtok": cache_read,
        "cache_write_usd_per_mtok": cache_write,
        "cache_write_1h_usd_per_mtok": cache_write_1h,
    }
    card = {"usd_per_gpu_hour": gpu_hour, "discount_ratio": discount, "kind": kind, "region": region}
    if any(card.values()) == any(tokens.values()):
        message = "say either what tokens cost (--input, --output) or what a card costs (--gpu-hour)"
        raise BadInputError(message)
    if gpu_hour is None and any(card.values()):
        message = "a card needs --gpu-hour, its price for one hour"
        raise BadInputError(message)
    row = (
        {"sku": name, **told, **card}
        if gpu_hour
        else {"model": name, "service_tier": service_tier, **told, **tokens}
    )
    taken = _desk().add(settings.load(config), "gpus" if gpu_hour else "tokens", row, anyway=anyway)
    say(f"Written to {taken.file}. What was priced keeps its price; `taximeter reprice` changes that.")


@app.command(name="import")
def import_(
    *,
    file: Annotated[Path, typer.Argument(help="SkyPilot catalogue or other CSV; LiteLLM's prices as JSON")],
    dated: Annotated[str | None, typer.Option(help="Day on which the list held, if it has none")] = None,
    provider: Annotated[str | None, typer.Option(help="Whose list it is, if it does not say")] = None,
    models: Annotated[str, typer.Option(help="Glob of the models to take from a JSON table")] = "*",
    source: Source = None,
    config: Config = None,
) -> None:
    """Write the rows of a price list into your price file; imported cards only serve to compare with.

    Refuses what has no date, is not in USD, or is more than three times off what others ask for the card.

    Examples: taximeter prices import vms.csv --provider verda --dated 2026-11-09;
    taximeter prices import model_prices.json --models 'claude-*' --dated 2026-11-09
    """
    taken = _desk().take_list(
        settings.load(config), file, dated=dated, provider=provider, models=models, source=source
    )
    for line in taken.refused:
        say(f"refused: {line}")
    refused = len(taken.refused)
    say(f"{taken.file}: {taken.written} rows written, {taken.present} were there, {refused} refused")
    raise typer.Exit(0 if taken.written or taken.present else 1)


def reprice(
    *,
    since: Annotated[str, typer.Option(help="From: 7d, 2026-11-01, 2026-11-01T08:00Z")],
    until: Annotated[str | None, typer.Option(help="Up to, not including; same forms [now]")] = None,
    yes: Annotated[bool, typer.Option("--yes", help="Write the new prices")] = False,
    output: Output = "table",
    config: Config = None,
    data: Data = None,
) -> None:
    """Price the past again by today's price book: shows what changes, per model and card; --yes writes it.

    Where `taximeter up` runs, it does the work, by the price file of its own settings.

    Examples: taximeter reprice --since 2026-11-01;  taximeter reprice --since 7d --until 1d --yes
    """
    values = settings.load(config, data=data)
    content, rows = _desk().reprice(values, since, until, write_it=yes, output=output)
    sys.stdout.buffer.write(content)
    if not rows:
        say("Nothing changes: all of it is priced as the price book says today.")
    else:
        say("Written." if yes else "Nothing was written; say --yes to write it.")


def _desk() -> Any:
    """Load the warehouse's price desk when a command needs it, and not before."""
    return importlib.import_module("warehouse.prices.desk")
