"""Whom to ask: targets of the settings, and a list that other programs keep (Prometheus file discovery)."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import yaml

from taximeter.errors import BadInputError

MOST_TARGETS = 1_000
DEFAULT_EVERY_S = 5.0
_FASTEST_S = 0.1
_KEYS = {"url", "every_s", "labels", "deployment", "token_env"}
_LOOPBACK = {"localhost", "127.0.0.1", "::1"}


class Target(NamedTuple):
    """One page to ask for: every how many seconds, with which labels, and what it is said to serve.

    `token_env` names the environment variable that holds the bearer token to ask with.
    """

    url: str
    every_s: float = DEFAULT_EVERY_S
    labels: tuple[tuple[str, str], ...] = ()
    deployment: str | None = None
    token_env: str | None = None

    @property
    def instance(self) -> str:
        """Its address as `host:port`."""
        parts = urlsplit(self.url)
        host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname or ""
        return f"{host}:{parts.port or (443 if parts.scheme == 'https' else 80)}"

    def host(self, own: str) -> str:
        """Name the machine it runs on; a loopback address is this one, `own`."""
        name = urlsplit(self.url).hostname or ""
        return own if name in _LOOPBACK else name


def of_settings(said: Sequence[Mapping[str, Any]]) -> list[Target]:
    """Read targets as the settings and a list of ours tell them: `{url, every_s, labels, deployment}`.

    Raises:
        BadInputError: one has an unknown key, no http address, or an interval that cannot be.
    """
    return [_of_settings(one) for one in said]


def read_list(file: Path) -> list[Target]:
    """Read a file of targets, YAML or JSON: a list of ours, or one in Prometheus' form, told by its keys.

    In Prometheus' form a target is `host:port`; the labels `__scheme__` and `__metrics_path__` complete its
    address, `deployment` says what it serves, others that begin with `__` are dropped.

    Raises:
        BadInputError: it is no such list, or too long.
        OSError: the file cannot be read.
    """
    text = file.read_text(encoding="utf-8")
    try:
        said = json.loads(text) if file.suffix == ".json" else yaml.safe_load(text)
    except (ValueError, yaml.YAMLError, RecursionError) as error:
        message = f"{file.name} is no list of targets: {str(error).splitlines()[0]}"
        raise BadInputError(message) from None
    if not isinstance(said, list) or not all(isinstance(one, dict) for one in said):
        message = f"{file.name} must hold a list of targets"
        raise BadInputError(message)
    found = [
        target for one in said for target in (_of_discovery(one) if "targets" in one else [_of_settings(one)])
    ]
    if len(found) > MOST_TARGETS:
        message = f"{file.name} holds more than {MOST_TARGETS} targets"
        raise BadInputError(message)
    return found


def _of_settings(said: Mapping[str, Any]) -> Target:
    unknown = said.keys() - _KEYS
    if unknown:
        message = f"a target has unknown keys: {', '.join(sorted(map(str, unknown)))}"
        raise BadInputError(message)
    labels = said.get("labels") or {}
    target = _target(
        str(said.get("url", "")),
        said.get("every_s", DEFAULT_EVERY_S),
        {str(key): str(value) for key, value in labels.items()},
    )
    return target._replace(deployment=_text(said.get("deployment")), token_env=_text(said.get("token_env")))


def _of_discovery(said: Mapping[str, Any]) -> list[Target]:
    labels = {str(key): str(value) for key, value in (said.get("labels") or {}).items()}
    scheme = labels.get("__scheme__", "http")
    path = labels.get("__metrics_path__", "/metrics")
    kept = {key: value for key, value in labels.items() if not key.startswith("__") and key != "deployment"}
    addresses = said["targets"] if isinstance(said["targets"], list) else []
    return [
        _target(f"{scheme}://{address}{path}", DEFAULT_EVERY_S, kept)._replace(
            deployment=labels.get("deployment")
        )
        for address in map(str, addresses)
    ]


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _target(url: str, every_s: Any, labels: Mapping[str, str]) -> Target:
    try:
        parts = urlsplit(url)
        is_http = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
        is_address = is_http and parts.username is None  # a password belongs into `token_env`
        seconds = float(every_s)
    except (ValueError, TypeError):
        is_address, seconds = False, 0.0
    if not is_address or not _FASTEST_S <= seconds < float("inf"):
        message = (
            f"no target: {url.rpartition('@')[2]!r} every {every_s} s (it must be an http address without a"
            f" password, and {_FASTEST_S} s or slower; a token is named by token_env)"
        )
        raise BadInputError(message)
    return Target(url, seconds, tuple(sorted(labels.items())))
