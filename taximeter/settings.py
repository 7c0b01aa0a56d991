"""What the user decided: one YAML file, environment overrides, and where each value came from."""

import os
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from taximeter.errors import SettingsError

DEFAULT_FILE = Path("taximeter.yaml")
ENV_PREFIX = "TAXIMETER_"
_PATHS = (
    (None, "data"),
    ("prices", "file"),
    ("alerts", "rules"),
    ("collector", "scrape_list"),
    ("collector", "sources"),
)


class Section(BaseModel):
    """One part of the settings; an unknown key is an error, not a shrug."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Hold(Section):
    """A stretch of time for which GPUs were paid, half-open; no end means still held."""

    start: AwareDatetime = Field(alias="from")
    end: AwareDatetime | None = Field(default=None, alias="to")


class Gpus(Section):
    """The GPUs behind a deployment, as the user declares them."""

    sku: str
    count: int = Field(ge=1)
    per_replica: int = Field(default=1, ge=1)
    usd_per_gpu_hour: Decimal | None = Field(default=None, ge=0, decimal_places=6)
    price_source: str | None = None
    uuids: list[str] = []
    held: list[Hold] = []


class Deployment(Section):
    """What serves a model: its names, its addresses, its GPUs."""

    name: str
    models: list[str] = []
    addresses: list[str] = []
    workloads: list[str] = []
    concurrency: int | None = Field(default=None, ge=1)
    gpus: Gpus | None = None


class Content(Section):
    """How much of prompts and answers is kept: keyed hashes, or the text itself."""

    capture: Literal["hashes", "text"] = "hashes"


class Slo(Section):
    """The wait that users accept, and the share of steps that must keep it."""

    added_wait_s: float = Field(default=2.0, ge=0)
    share: float = Field(default=0.95, gt=0, le=1)


class Prices(Section):
    """The user's own dated price rows, and the currency they are in."""

    file: Path | None = None
    currency: Literal["USD"] = "USD"


class Scrape(Section):
    """A page of metrics to ask for: a GPU exporter's, or a serving engine's."""

    url: str
    every_s: float = Field(default=5.0, ge=0.1)
    labels: dict[str, str] = {}
    deployment: str | None = None
    token_env: str | None = None


class Collector(Section):
    """Where telemetry comes in, and the bounds on it."""

    host: str = "127.0.0.1"
    grpc_port: int = Field(default=4317, ge=0, le=65_535)
    http_port: int = Field(default=4318, ge=0, le=65_535)
    max_request_mib: int = Field(default=16, ge=1)
    journal_max_mib: int = Field(default=2_048, ge=8)
    segment_mib: int = Field(default=64, ge=1)
    nvml: Literal["auto", "off"] = "auto"
    sample_interval_s: float = Field(default=1.0, gt=0)
    process_interval_s: float = Field(default=5.0, gt=0)
    scrape: list[Scrape] = []
    scrape_list: Path | None = None
    sources: Path | None = None


class Warehouse(Section):
    """Where reports are answered, and when a figure counts as settled."""

    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65_535)
    url: str | None = None
    memory_limit: str = "2GB"
    settle_s: int = Field(default=900, ge=0)
    task_timeout_s: int = Field(default=1_800, ge=1)
    released_after_s: int = Field(default=900, ge=1)
    sample_interval_s: float = Field(default=1.0, gt=0)
    busy_ratio: float = Field(default=0.05, ge=0, le=1)
    clock_tolerance_s: float = Field(default=0.2, ge=0)
    weights: Literal["equal", "tokens"] = "equal"


class Dashboard(Section):
    """Where the pages are served."""

    host: str = "127.0.0.1"
    port: int = Field(default=8501, ge=0, le=65_535)
    public_url: str | None = None


class Channel(Section):
    """One place that notifications go to; secrets are named by their environment variable."""

    slack_webhook_env: str | None = None
    webhook_env: str | None = None
    webhook_url: str | None = None
    secret_env: str | None = None
    apprise_env: str | None = None
    allow_private: bool = False


class Alerts(Section):
    """Rules, how often they are asked, and where they tell."""

    rules: Path | None = None
    interval_s: float = Field(default=10.0, gt=0)
    idle_after_s: float = Field(default=60.0, gt=0)
    channels: dict[str, Channel] = {}


class Token(Section):
    """An access token, named by the environment variable that holds it."""

    env: str
    tenant: str = "default"
    scopes: list[Literal["write", "read", "admin"]] = ["write", "read"]


class Settings(BaseSettings):
    """All of it. Environment variables win over the file: TAXIMETER_COLLECTOR__HTTP_PORT=4418."""

    model_config = SettingsConfigDict(
        env_prefix=ENV_PREFIX, env_nested_delimiter="__", extra="forbid", frozen=True
    )

    data: Path = Path("data")
    zone: str = "UTC"
    task_key: str | None = None
    content: Content = Content()
    slo: Slo = Slo()
    prices: Prices = Prices()
    deployments: list[Deployment] = []
    collector: Collector = Collector()
    warehouse: Warehouse = Warehouse()
    dashboard: Dashboard = Dashboard()
    alerts: Alerts = Alerts()
    tokens: list[Token] = []

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file, which arrives as init values."""
        del settings_cls, dotenv_settings, file_secret_settings
        return env_settings, init_settings

    @property
    def warehouse_url(self) -> str:
        """Where reports are asked for."""
        return self.warehouse.url or f"http://{self.warehouse.host}:{self.warehouse.port}"

    @property
    def dashboard_url(self) -> str:
        """Where a person looks; links in notifications start with it."""
        where = f"http://{self.dashboard.host}:{self.dashboard.port}"
        return self.dashboard.public_url or where


def load(file: Path | None = None, **overrides: Any) -> Settings:
    """Read the settings from `file` (default: taximeter.yaml if it is there) and the environment.

    Relative paths in the file are taken from the file's own folder. `overrides` stand for options of
    the command line: they replace top-level keys of the file, and of the environment.

    Raises:
        SettingsError: the file is missing, is not YAML, or holds a value that cannot be.
    """
    values = _read(file) if file else (_read(DEFAULT_FILE) if DEFAULT_FILE.exists() else {})
    given = {key: value for key, value in overrides.items() if value is not None}
    try:
        return Settings(**values | given).model_copy(update=given)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        message = f"settings: {where}: {first['msg']} (in {file or DEFAULT_FILE} or the environment)"
        raise SettingsError(message) from None


def origins(values: Settings, file: Path | None) -> list[tuple[str, Any, str]]:
    """List every effective value with its dotted name and where it came from.

    The origin is the environment variable's name, the file's, or "default".
    """
    source = file or DEFAULT_FILE
    written = _read(source) if source.exists() else {}
    found: list[tuple[str, Any, str]] = []
    for path, value in _leaves((), values.model_dump(mode="json", by_alias=True)):
        variable = ENV_PREFIX + "__".join(path).upper()
        in_file = str(source) if _holds(written, path) else "default"
        found.append((".".join(path), value, variable if variable in os.environ else in_file))
    return found


def _leaves(path: tuple[str, ...], value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from _leaves((*path, key), inner)
    else:
        yield path, value


def _holds(written: Any, path: tuple[str, ...]) -> bool:
    for key in path:
        if not isinstance(written, dict) or key not in written:
            return False
        written = written[key]
    return True


def json_schema() -> dict[str, Any]:
    """Describe taximeter.yaml as a JSON schema, for editors and for checks."""
    schema = Settings.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "taximeter.yaml"} | schema


def _read(file: Path) -> dict[str, Any]:
    try:
        values = yaml.safe_load(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        message = f"settings: there is no file {file}"
        raise SettingsError(message) from None
    except yaml.YAMLError as error:
        message = f"settings: {file} is not YAML: {str(error).splitlines()[0]}"
        raise SettingsError(message) from None
    if values is None:
        return {}
    if not isinstance(values, dict):
        message = f"settings: {file} must hold keys and values"
        raise SettingsError(message)
    for section, key in _PATHS:
        holder = values if section is None else values.get(section)
        if isinstance(holder, dict) and holder.get(key):
            holder[key] = file.parent / Path(str(holder[key])).expanduser()
    return values
