"""The program that serves the pages."""

import socket
from pathlib import Path

import httpx
import pytest

from dashboard.__main__ import main


def test_it_prints_where_it_is_ready(program: str) -> None:
    """With port 0 the ready line tells the real address, which answers."""
    assert program.startswith("http://127.0.0.1:")
    assert httpx.get(f"{program}/_stcore/health").status_code == 200


@pytest.mark.parametrize("page", ["/", "/tasks", "/task?task_id=aa01", "/gpus?since=24h", "/health"])
def test_every_page_has_an_address(program: str, page: str) -> None:
    """Deep links answer with the application."""
    assert '<div id="root">' in httpx.get(program + page).text


def test_a_public_address_without_a_token_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody else may read the pages without a token, and the message says how to set one."""
    monkeypatch.chdir(tmp_path)

    status = main(["--host", "0.0.0.0", "--port", "0"])

    assert status == 2
    assert "name a token in the settings" in capsys.readouterr().err


def test_a_taken_port_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another program on the port is said in a line that names the setting to change."""
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        status = main(["--port", str(port)])

    message = capsys.readouterr().err
    assert status == 1
    assert str(port) in message
    assert message.count("\n") == 1


def test_a_missing_settings_file_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong --config is told by name."""
    status = main(["--config", str(tmp_path / "none.yaml")])

    assert status == 2
    assert "none.yaml" in capsys.readouterr().err
