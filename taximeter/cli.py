"""The command `taximeter`: starts programs by name, and asks them for reports."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from taximeter import (
    bill_command,
    demo_command,
    doctor_command,
    explain_command,
    gpus_command,
    import_command,
    plan_command,
    prices_command,
    programs,
    report_command,
    up_command,
)
from taximeter.errors import TaximeterError

EXAMPLES = """\
Examples:

\b
  taximeter demo                        a simulated day, in the browser
  taximeter up                          start every program on this machine
  taximeter import runs/*.json          read recordings you already have
  taximeter report tasks --since 24h    what each agent task cost
  taximeter report idle_waste -f csv    which GPU dollars nobody used
  taximeter plan backtest --all         what other scaling would cost, and who would wait
  taximeter explain run.json            why each number is what it is
  taximeter prices check                which models and cards have no sound price
  taximeter doctor                      what is set, what runs, what is missing
"""

app = typer.Typer(
    name="taximeter",
    help="What every agent task cost, why, and which GPU dollars nobody used.",
    epilog=EXAMPLES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="Settings file [taximeter.yaml if there]")
]
Data = Annotated[Path | None, typer.Option("--data", "-d", help="Data folder [from the settings]")]


@app.command()
def up(config: Config = None, data: Data = None) -> None:
    """Start every program on this machine under one supervisor, and print one URL.

    Example: taximeter up --data ./data
    """
    up_command.run(config, data)


@app.command()
def demo(
    data: Annotated[Path, typer.Option("--data", "-d", help="Folder that is emptied for the demo")] = Path(
        "demo-data"
    ),
    live: Annotated[bool, typer.Option(help="Keep simulating in real time")] = True,  # noqa: FBT002
) -> None:
    """Run a simulated day through the real ports and open the meter on it. Every screen says simulated.

    Example: taximeter demo --no-live
    """
    demo_command.run(data, live=live)


@app.command(name="import")
def import_(
    paths: Annotated[list[Path], typer.Argument(help="Files or folders: traces, call logs, GPU samples")],
    zone: Annotated[
        str | None, typer.Option(help="Zone of sample times that name none [from the settings]")
    ] = None,
    at: Annotated[
        str | None, typer.Option("--at", help="When files that tell no time were taken: 2026-12-01T10:00:00Z")
    ] = None,
    kind: Annotated[str | None, typer.Option("--as", help="requests or gpu: read all files by a map")] = None,
    by_map: Annotated[
        str | None, typer.Option("--map", help="What columns mean: a YAML file, or a shipped map's name")
    ] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Read recordings you already have, told by their content, compressed or not.

    Traces: OTLP (JSON, protobuf), Jaeger, Tempo and Langfuse exports. Calls: Claude Code session logs,
    aider's log, LiteLLM spend rows (JSON, CSV). GPU samples: CSV, Parquet, `nvidia-smi` (-q, -q -x, query
    tables), `rocm-smi --json`, and saved pages of metrics of exporters and serving engines.
    A log or table with names of its own is read with --as and a map of its columns (see docs/reports.md).

    The same file read twice counts once. Says what it read, what it refused, and why.

    Examples: taximeter import exports/ ~/.claude/projects gpu.csv --zone Europe/Berlin;
    taximeter import AzureLLMInferenceTrace_code.csv --as requests --map azure-llm-inference
    """
    raise typer.Exit(import_command.run(paths, config, data, zone, at=at, kind=kind, by_map=by_map))


@app.command()
def gpus(
    output: Annotated[str, typer.Option("--format", "-f", help="text, table, json, csv or parquet")] = "text",
    url: Annotated[str | None, typer.Option(help="Ask the warehouse at this address")] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Show which GPU serves which deployment, who says so, and which GPUs nobody claims.

    Examples: taximeter gpus;  taximeter gpus -f json
    """
    gpus_command.run(output=output, url=url, config=config, data=data)


@app.command()
def report(
    name: Annotated[str | None, typer.Argument(help="Which report; leave out to list them")] = None,
    since: Annotated[str | None, typer.Option(help="From: 24h, 7d, 2026-11-01, 2026-11-01T08:00Z")] = None,
    until: Annotated[str | None, typer.Option(help="Up to, not including; same forms")] = None,
    group_by: Annotated[
        str | None, typer.Option("--group-by", "-g", help="Such as agent, model, day")
    ] = None,
    output: Annotated[str, typer.Option("--format", "-f", help="table, json, csv or parquet")] = "table",
    param: Annotated[
        list[str] | None, typer.Option("--param", "-p", help="name=value, e.g. task_id=...")
    ] = None,
    url: Annotated[str | None, typer.Option(help="Ask the warehouse at this address")] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Answer a named report. Asks the running warehouse, or opens the data folder itself if none runs.

    Examples: taximeter report tasks --since 7d;  taximeter report multipliers -g agent -f json
    """
    wanted = {"since": since, "until": until, "group_by": group_by}
    wanted |= dict(report_command.split_parameter(text) for text in param or [])
    report_command.run(name, wanted, output=output, url=url, config=config, data=data)


@app.command()
def explain(
    what: Annotated[str, typer.Argument(help="A recording, or the id of a trace that is loaded")],
    output: Annotated[str, typer.Option("--format", "-f", help="text, json, csv or parquet")] = "text",
    url: Annotated[str | None, typer.Option(help="Ask the warehouse at this address")] = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Say for every span who read it, where its numbers come from, and why it counts or does not.

    Examples: taximeter explain run.json;  taximeter explain 4bf92f3577b34da6a3ce929d0e0e4736
    """
    explain_command.run(what, output=output, url=url, config=config, data=data)


@app.command()
def doctor(config: Config = None, data: Data = None) -> None:
    """Show the effective settings and where each came from, what runs, and what is missing.

    Example: taximeter doctor
    """
    raise typer.Exit(doctor_command.run(config, data))


@app.command()
def schema() -> None:
    """Print the JSON schema of taximeter.yaml, for editors.

    Example: taximeter schema > taximeter.schema.json
    """
    doctor_command.print_schema()


def _add_program(program: programs.Program) -> None:
    """Make `taximeter NAME ...` run that program with all the arguments that follow."""

    @app.command(
        name=program.name,
        help=f"{program.about} One program; its own options follow (--help shows them).",
        context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
        add_help_option=False,
    )
    def start(context: typer.Context) -> None:
        raise typer.Exit(programs.run(program.module, context.args))


app.add_typer(prices_command.app, name="prices")
app.add_typer(bill_command.app, name="bill")
app.add_typer(plan_command.app, name="plan")
app.command()(prices_command.reprice)
for _program in programs.PROGRAMS:
    _add_program(_program)


def main() -> None:
    """Run the command; a failure that is the user's to mend is one line on standard error."""
    try:
        app(prog_name="taximeter")
    except TaximeterError as error:
        sys.stderr.write(f"taximeter: {error}\n")
        sys.exit(error.exit_status)
    except BrokenPipeError:
        sys.exit(0)
