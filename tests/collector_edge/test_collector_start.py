import json
import socket
import time
from pathlib import Path

import httpx
import pyarrow.parquet as pq
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from collector.__main__ import main
from collector.edge.access import check_bind
from collector.edge.testing import CollectorProcess
from collector.journal.writer import JournalWriter
from taximeter.errors import UnsafeBindError
from taximeter.layout import DataFolder


def settings_file(folder: Path, text: str) -> str:
    file = folder / "taximeter.yaml"
    file.write_text(text, encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.0.0.7", "192.168.1.4", "collector.internal"])
def test_an_open_address_needs_a_token(host: str) -> None:
    """Listening beyond this machine without a token is refused, with the words that set one."""
    with pytest.raises(UnsafeBindError, match=r"TAXIMETER_TOKEN.*tokens:"):
        check_bind(host, has_tokens=False)
    check_bind(host, has_tokens=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.1", "::1", "localhost"])
def test_loopback_needs_no_token(host: str) -> None:
    """On this machine alone everyone may send."""
    check_bind(host, has_tokens=False)


def test_the_program_refuses_an_open_address_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The refusal is one line on standard error and a status that is not zero, and nothing is made."""
    assert main(["--data", str(tmp_path / "data"), "--host", "0.0.0.0"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "data").exists()


def test_a_token_that_is_not_exported_stops_the_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Settings that name a token whose variable is missing never open an edge without it."""
    monkeypatch.delenv("EDGE_TEST_TOKEN", raising=False)
    config = settings_file(tmp_path, "data: data\ntokens: [{env: EDGE_TEST_TOKEN}]\n")
    assert main(["--config", config]) == 2
    assert "EDGE_TEST_TOKEN" in capsys.readouterr().err


@pytest.mark.parametrize("which", ["--http-port", "--grpc-port"])
def test_a_taken_port_is_told_in_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], which: str
) -> None:
    """When a port is taken the program says which one, and how to choose another."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        ports = {"--http-port": "0", "--grpc-port": "0", which: port}
        arguments = [part for pair in ports.items() for part in pair]
        assert main(["--data", str(tmp_path), *arguments]) == 1
    error = capsys.readouterr().err
    assert f"127.0.0.1:{port}" in error
    assert which in error


def test_a_second_collector_on_the_same_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two collectors never write one journal: the second says so in one line and ends."""
    first = JournalWriter(DataFolder(tmp_path).make(), segment_bytes=1 << 20)
    assert main(["--data", str(tmp_path), "--http-port", "0", "--grpc-port", "0"]) == 1
    first.close()
    error = capsys.readouterr().err
    assert (error.count("\n"), "--data" in error) == (1, True)


def test_the_program_from_start_to_stop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port 0 works and is told in collector.json; a span reaches the inbox; SIGTERM ends it with 0.

    A token that the settings name is asked for, and is nowhere in the data folder.
    """
    monkeypatch.setenv("EDGE_TEST_TOKEN", "correct-horse")
    config = settings_file(tmp_path, "data: data\ntokens: [{env: EDGE_TEST_TOKEN, tenant: acme}]\n")
    with CollectorProcess(tmp_path / "data", "--config", config) as collector:
        told = json.loads((tmp_path / "data/collector.json").read_text(encoding="ascii"))
        assert (told["pid"], told["host"]) == (collector.pid, "127.0.0.1")
        assert send(collector, {}) == 401
        assert send(collector, {"authorization": "Bearer correct-horse"}) == 200
        deadline_s = time.monotonic() + 60
        while not list(collector.folder.inbox.glob("*/spans.parquet")):
            assert time.monotonic() < deadline_s
            time.sleep(0.05)
        assert collector.stop() == 0
    assert not (tmp_path / "data/collector.json").exists()
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert all(b"correct-horse" not in path.read_bytes() for path in files)
    (spans,) = collector.folder.inbox.glob("*/spans.parquet")
    assert pq.ParquetFile(spans).read(["tenant"])["tenant"].to_pylist() == ["acme"]


def send(collector: CollectorProcess, headers: dict[str, str]) -> int:
    request = ExportTraceServiceRequest()
    request.resource_spans.add().scope_spans.add().spans.add(
        name="chat", trace_id=b"\1" * 16, span_id=b"\2" * 8, start_time_unix_nano=10, end_time_unix_nano=20
    )
    answer = httpx.post(
        collector.http_url + "/v1/traces",
        content=request.SerializeToString(),
        headers={"content-type": "application/x-protobuf", **headers},
    )
    return answer.status_code
