"""`taximeter plan`: decide on your own recorded load, before anyone touches a cluster."""

import importlib
import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from taximeter import settings
from taximeter.errors import BadInputError
from taximeter.say import say

app = typer.Typer(
    help="Replay your recorded load under other policies and bills: cost, and who would have waited.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Config = Annotated[
    Path | None, typer.Option("--config", "-c", help="Settings file [taximeter.yaml if there]")
]
Data = Annotated[Path | None, typer.Option("--data", "-d", help="Data folder [from the settings]")]
Url = Annotated[str | None, typer.Option(help="Ask the warehouse at this address")]
Since = Annotated[str | None, typer.Option(help="From: 24h, 7d, 2026-11-01, 2026-11-01T08:00Z")]
Until = Annotated[str | None, typer.Option(help="Up to, not including; same forms")]
Deployment = Annotated[str | None, typer.Option(help="Which one, where there are several")]
Model = Annotated[
    str | None,
    typer.Option(
        "--service-model",
        help="How long a call takes, assumed: prefill_tokens_per_s=8000,decode_tokens_per_s=60",
    ),
]
Concurrency = Annotated[int | None, typer.Option(min=1, help="Calls that one replica serves at once")]
Price = Annotated[str | None, typer.Option("--usd-per-gpu-hour", help="Price of a card for an hour")]
Output = Annotated[str, typer.Option("--format", "-f", help="table, json or csv")]


@app.callback()
def plan() -> None:
    """Replay your recorded load under other policies."""


@app.command()
def backtest(
    *,
    policy: Annotated[
        list[Path] | None, typer.Option("--policy", "-p", help="Policy file; may be given again")
    ] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every policy, with its makers' defaults")] = False,
    since: Since = None,
    until: Until = None,
    deployment: Deployment = None,
    service_model: Model = None,
    concurrency: Concurrency = None,
    usd_per_gpu_hour: Price = None,
    multiply: Annotated[float, typer.Option(help="So many times the recorded loops")] = 1.0,
    shift_s: Annotated[float, typer.Option(help="Move all of it by so many seconds")] = 0.0,
    burst: Annotated[float, typer.Option(help="Draw each hour's arrivals together so many times")] = 1.0,
    seed: Annotated[int, typer.Option(help="Of what is drawn at random when the load is changed")] = 1,
    output: Annotated[str, typer.Option("--format", "-f", help="table, json, csv or html")] = "table",
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Replay the recorded load under policies: what each would have cost, and who would have waited.

    Examples: taximeter plan backtest --all --since 7d;
    taximeter plan backtest --policy policy.yaml --format html > backtest.html
    """
    if bool(policy) == all_:
        message = "say which policies: --policy FILE (again for more), or --all"
        raise BadInputError(message)
    wanted = _wanted(
        deployment,
        since,
        until,
        service_model,
        concurrency,
        _price(usd_per_gpu_hour),
        multiply,
        shift_s,
        burst,
        seed,
    )
    values = settings.load(config, data=data)
    content = _desk().backtest(values, wanted, policy or [], url=url, output=output, tell=say)
    sys.stdout.buffer.write(content)


@app.command()
def workload(
    *,
    since: Since = None,
    until: Until = None,
    deployment: Deployment = None,
    service_model: Model = None,
    concurrency: Concurrency = None,
    output: Output = "table",
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Tell what a replay would replay: tasks, calls, queueing, critical paths, saturated minutes.

    Example: taximeter plan workload --since 7d
    """
    wanted = _wanted(deployment, since, until, service_model, concurrency)
    values = settings.load(config, data=data)
    sys.stdout.buffer.write(_desk().workload(values, wanted, url=url, output=output, tell=say))


@app.command()
def billing(
    *,
    since: Since = None,
    until: Until = None,
    deployment: Deployment = None,
    service_model: Model = None,
    concurrency: Concurrency = None,
    usd_per_gpu_hour: Price = None,
    output: Output = "table",
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Tell what the same load costs by the hour, the minute and the second, with the waits of cold starts.

    Example: taximeter plan billing --since 7d
    """
    wanted = _wanted(deployment, since, until, service_model, concurrency, _price(usd_per_gpu_hour))
    values = settings.load(config, data=data)
    sys.stdout.buffer.write(_desk().billing(values, wanted, url=url, output=output, tell=say))


@app.command()
def lint(
    files: Annotated[list[Path] | None, typer.Argument(help="Policy files")] = None,
    *,
    schema: Annotated[bool, typer.Option("--schema", help="Print the JSON schema of policy files")] = False,
) -> None:
    """Judge policy files: what would not work or would cost more than it saves, and why.

    The exit status is 1 if something is wrong.

    Examples: taximeter plan lint policy.yaml;  taximeter plan lint --schema > policy.schema.json
    """
    if schema:
        described = importlib.import_module("planner.policy_file").json_schema()
        sys.stdout.write(json.dumps(described, indent=2) + "\n")
        return
    if not files:
        message = "name a policy file, or say --schema"
        raise BadInputError(message)
    found = _desk().lint_files(files)
    for file, finding in found:
        line = f"{finding.level:7}  {file}: {finding.policy}: {finding.rule}: {finding.text}"
        print(line)  # noqa: T201 - the result
    raise typer.Exit(1 if any(finding.level == "error" for _, finding in found) else 0)


ColdStart = Annotated[
    float | None,
    typer.Option("--cold-start-s", min=0, help="Seconds until a replica serves [as recorded, else assumed]"),
]
Preempted = Annotated[
    float | None,
    typer.Option("--preempted-per-hour", min=0, help="How often a spot card is taken back"),
]


@app.command()
def size(
    *,
    since: Since = None,
    until: Until = None,
    concurrency: Concurrency = None,
    cold_start_s: ColdStart = None,
    output: Output = "table",
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Size the recorded load: turn budgets, bursts in cards, break-even cold start, share for a small model.

    Example: taximeter plan size --since 7d
    """
    values = settings.load(config, data=data)
    terms = _terms(cold_start_s, concurrency)
    desk = importlib.import_module("planner.sizing.desk")
    sys.stdout.buffer.write(desk.size(values, since=since, until=until, terms=terms, url=url, output=output))


@app.command()
def advise(
    *,
    since: Since = None,
    until: Until = None,
    concurrency: Concurrency = None,
    cold_start_s: ColdStart = None,
    preempted_per_hour: Preempted = None,
    manifests: Annotated[
        Path | None, typer.Option(help="Write autoscaler manifests into this folder")
    ] = None,
    save: Annotated[bool, typer.Option(help="Keep the advice in the warehouse")] = True,
    output: Output = "table",
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Advise what to change: each saving replayed on the recording, and each reason why there is none.

    Example: taximeter plan advise --since 7d --manifests manifests/
    """
    values = settings.load(config, data=data)
    content = _advice().advise(
        values,
        since=since,
        until=until,
        terms=_terms(cold_start_s, concurrency, preempted_per_hour),
        url=url,
        output=output,
        save=save,
        manifests=manifests,
        tell=say,
    )
    sys.stdout.buffer.write(content)


@app.command()
def follow(
    advice_id: Annotated[str, typer.Argument(help="As `plan advise` shows it")],
    *,
    at: Annotated[str | None, typer.Option(help="When it was followed [now]")] = None,
    url: Url = None,
    config: Config = None,
    data: Data = None,
) -> None:
    """Remember that an advice was followed, to compare what it predicted with what happens.

    Example: taximeter plan follow 3f2a9c01b7de;  taximeter report recommendations_followed
    """
    values = settings.load(config, data=data)
    say(_advice().follow(values, advice_id, at=at, url=url))


def _advice() -> Any:
    return importlib.import_module("planner.advice.desk")


def _terms(*parts: Any) -> Any:
    return importlib.import_module("planner.advice.load").Terms(*parts)


def _wanted(*parts: Any) -> Any:
    return _desk().Wanted(*parts)


def _price(text: str | None) -> str | None:
    """Refuse what is no amount of money, before anything is read.

    Raises:
        BadInputError: it is negative or no number.
    """
    if text is not None and not text.replace(".", "", 1).isdigit():
        message = f"--usd-per-gpu-hour {text!r} is no amount; write one such as 3.99"
        raise BadInputError(message)
    return text


def _desk() -> Any:
    """Load the planner when a command needs it, and not before."""
    return importlib.import_module("planner.desk")
