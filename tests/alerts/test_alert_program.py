"""The program as it is run: real HTTP on both sides, and a kill at any moment loses nothing."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import yaml

from alerts.__main__ import main
from alerts.testing import Receiver
from taximeter.clock import SYSTEM_CLOCK

Make = Callable[..., pa.Table]
REPOSITORY = Path(__file__).parents[2]


def _config(folder: Path, receiver: Receiver, **changes: Any) -> Path:
    path = folder / "taximeter.yaml"
    channel = {"webhook_url": f"{receiver.url}/hook", "allow_private": True}
    settings = {
        "data": str(folder / "data"),
        "warehouse": {"url": receiver.url},
        "alerts": {"interval_s": 0.05, "channels": {"hook": channel}, **changes},
    }
    path.write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def _start(config: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "alerts", "--config", str(config)], cwd=REPOSITORY, stderr=subprocess.DEVNULL
    )


def _wait(is_there: Callable[[], bool], limit_s: float = 60.0) -> None:
    end = time.monotonic() + limit_s
    while not is_there():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def _kinds(receiver: Receiver) -> list[str]:
    """What arrived, deliveries of one notification counted once."""
    seen = {
        request.headers["idempotency-key"]: json.loads(request.body)["kind"] for request in receiver.received
    }
    return list(seen.values())


def test_a_kill_between_storing_and_sending_loses_nothing(
    tmp_path: Path, receiver: Receiver, gpus_now: Make, replica_need: Make
) -> None:
    """Killed while the receiver holds the request, the next start delivers it under the same key."""
    now_ns = SYSTEM_CLOCK.now_ns()
    receiver.tables = {"gpus_now": gpus_now({"a": 75.0}, now_ns), "replica_need": replica_need(now_ns)}
    receiver.may_answer.clear()
    config = _config(tmp_path, receiver)

    first = _start(config)
    _wait(lambda: bool(receiver.received))
    first.kill()
    first.wait()
    receiver.may_answer.set()
    second = _start(config)
    _wait(lambda: len(receiver.received) > 1)
    receiver.tables["gpus_now"] = gpus_now({"a": 0.0}, SYSTEM_CLOCK.now_ns())
    _wait(lambda: "resolved" in _kinds(receiver))
    second.terminate()

    assert second.wait(timeout=30) == 0
    assert _kinds(receiver) == ["firing", "resolved"]
    assert len(receiver.received) == 3


def test_kills_at_any_moment_neither_lose_nor_invent_an_alert(
    tmp_path: Path, receiver: Receiver, gpus_now: Make, replica_need: Make
) -> None:
    """Killed again and again around its first look, one idle time is still one firing and one resolved."""
    now_ns = SYSTEM_CLOCK.now_ns()
    receiver.tables = {"gpus_now": gpus_now({"a": 75.0}, now_ns), "replica_need": replica_need(now_ns)}
    config = _config(tmp_path, receiver)
    for extra_s in (0.0, 0.02):
        program = _start(config)
        _wait((tmp_path / "data" / "alerts.sqlite.lock").exists)
        time.sleep(extra_s)
        program.kill()
        program.wait()

    last = _start(config)
    _wait(lambda: "firing" in _kinds(receiver))
    receiver.tables["gpus_now"] = gpus_now({"a": 0.0}, SYSTEM_CLOCK.now_ns())
    _wait(lambda: "resolved" in _kinds(receiver))
    last.terminate()
    last.wait(timeout=30)

    assert _kinds(receiver) == ["firing", "resolved"]


def test_looking_once_delivers_and_ends(
    tmp_path: Path, receiver: Receiver, gpus_now: Make, replica_need: Make
) -> None:
    """`--once` needs no schedule: it looks, delivers, and tells by its status whether all went well."""
    now_ns = SYSTEM_CLOCK.now_ns()
    receiver.tables = {"gpus_now": gpus_now({"a": 75.0}, now_ns), "replica_need": replica_need(now_ns)}
    rules = tmp_path / "rules.yaml"
    ours = ("multiplier_over_budget", "unpriced_share", "coverage_lost", "ingest_lag", "check_failing")
    others = (*ours, "kv_cache_full", "queue_long", "engine_silent", "scrape_down")
    off = [
        {"name": name, "enabled": False, "report": "x", "condition": "a = 1", "title": "t", "text": "x"}
        for name in others
    ]
    rules.write_text(yaml.safe_dump({"rules": off}))

    status = main(["--once", "--config", str(_config(tmp_path, receiver, rules=str(rules)))])

    assert status == 0
    assert _kinds(receiver) == ["firing"]


def test_a_look_that_fails_says_so(tmp_path: Path, receiver: Receiver) -> None:
    """Without an answer of the warehouse the status is not 0."""
    assert main(["--once", "--config", str(_config(tmp_path, receiver))]) == 1


def test_the_test_command_says_what_happened_at_each_channel(
    tmp_path: Path, receiver: Receiver, capsys: Any
) -> None:
    """Each channel gets one message; a failure is told without the address, and the status is not 0."""
    receiver.answers = [(200, {}), (404, {})]
    channel = {"webhook_url": f"{receiver.url}/hush", "allow_private": True}
    config = _config(tmp_path, receiver, channels={"good": channel, "bad": channel})

    status = main(["test", "--config", str(config)])

    out = capsys.readouterr().out
    assert status == 1
    assert out == "good: delivered\nbad: failed: 127.0.0.1 answered 404\n"
    assert [json.loads(request.body)["status"] for request in receiver.received] == ["test", "test"]


def test_without_a_channel_there_is_nothing_to_test(tmp_path: Path, receiver: Receiver, capsys: Any) -> None:
    """The command says what to add."""
    assert main(["test", "--config", str(_config(tmp_path, receiver, channels={}))]) == 2
    assert "alerts.channels" in capsys.readouterr().err


def test_a_secret_that_is_not_set_is_named_and_never_shown(
    tmp_path: Path, receiver: Receiver, capsys: Any
) -> None:
    """The variable is told, so that it can be set."""
    config = _config(tmp_path, receiver, channels={"x": {"slack_webhook_env": "TAXI_NO_SUCH_SECRET"}})

    assert main(["test", "--config", str(config)]) == 2
    assert "TAXI_NO_SUCH_SECRET" in capsys.readouterr().err
    assert "TAXI_NO_SUCH_SECRET" not in os.environ
