"""The agent as people start it: a process, the real pynvml, real HTTP."""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from ctypes.util import find_library
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from collector.agent.testing import Receiver, card_line, serving

ROOT = Path(__file__).parents[2]


def _start(arguments: list[str], environment: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "collector.agent", *arguments]
    inherited = {k: v for k, v in os.environ.items() if k != "LD_LIBRARY_PATH"}
    return subprocess.Popen(
        command,
        env={**inherited, **environment},
        cwd=ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_agent_samples_until_told_to_stop(library: Path, time_line: Callable[..., Path]) -> None:
    """A started agent delivers figures of every card, and SIGTERM ends it with its last samples delivered."""
    line = time_line(
        card_line(0, "GPU-a"), card_line(1, "GPU-b"), "0 1 util=75 fail.nvmlDeviceGetPowerUsage=3"
    )
    environment = {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_TIMELINE": str(line)}
    with serving(Receiver()) as receiver:
        arguments = ["--url", receiver.url, "--interval", "0.1", "--host", "node-a"]
        agent = _start(arguments, environment)
        assert receiver.wait_for(1)
        time.sleep(0.5)
        agent.send_signal(signal.SIGTERM)
        stdout, stderr = agent.communicate(timeout=20)
    assert agent.returncode == 0, stderr
    assert stdout == ""
    assert "sampling 2 GPUs" in stderr
    assert {r["host.name"] for r in receiver.resources()} == {"node-a"}
    told = receiver.points()
    assert {m for m, *_ in told} >= {
        f"taximeter.agent.{name}" for name in ("heartbeat", "cpu_s", "memory_mib")
    }
    points = [point for point in told if not point[0].startswith("taximeter.agent.")]
    assert {(a["gpu.uuid"], v) for m, a, _, v in points if m == "util_ratio"} == {
        ("GPU-a", 0),
        ("GPU-b", 0.75),
    }
    assert {a["gpu.uuid"] for m, a, _, _ in points if m == "power_w"} == {"GPU-a"}
    ticks = [t for m, a, t, _ in points if (m, a["gpu.uuid"]) == ("up", "GPU-a")]
    assert ticks == sorted(set(ticks))
    assert len(receiver.requests) == 2
    assert len(ticks) >= 3


def test_machine_without_a_driver_is_a_normal_answer() -> None:
    """Without an NVIDIA driver the agent ends with status 0 and one line that says what it looked for."""
    if find_library("nvidia-ml"):
        pytest.skip("this machine has an NVIDIA driver")
    agent = _start([], {})
    stdout, stderr = agent.communicate(timeout=20)
    assert (agent.returncode, stdout) == (0, "")
    assert stderr.count("\n") == 1
    assert "libnvidia-ml.so.1" in stderr


def test_replaced_driver_ends_with_its_own_status(library: Path, time_line: Callable[..., Path]) -> None:
    """A driver that does not match its library is an error that a service manager can tell from others."""
    line = time_line(card_line(0, "GPU-a"), "0 * init=18")
    agent = _start([], {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_TIMELINE": str(line)})
    _, stderr = agent.communicate(timeout=20)
    assert agent.returncode == 3
    assert "restart" in stderr


def test_missing_token_is_told_by_its_name(library: Path) -> None:
    """A token that is not in the environment is a mistake, told before anything is sampled."""
    agent = _start(["--token-env", "NO_SUCH_TOKEN"], {"LD_LIBRARY_PATH": str(library.parent)})
    _, stderr = agent.communicate(timeout=20)
    assert agent.returncode == 2
    assert "NO_SUCH_TOKEN" in stderr


def test_a_machine_without_nvidia_cards_forwards_what_its_exporters_tell(tmp_path: Path) -> None:
    """With a list of targets the agent goes on without a driver: their figures and its heartbeat arrive."""
    if find_library("nvidia-ml"):
        pytest.skip("this machine has an NVIDIA driver")
    page = b'gpu_gfx_activity{gpu_id="0"} 40\n'

    class Exporter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            return

    exporter = ThreadingHTTPServer(("127.0.0.1", 0), Exporter)
    threading.Thread(target=exporter.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
    targets = tmp_path / "targets.json"
    targets.write_text(json.dumps([{"targets": [f"127.0.0.1:{exporter.server_port}"]}]))
    with serving(Receiver()) as receiver:
        agent = _start(["--url", receiver.url, "--scrape-list", str(targets)], {})
        assert receiver.wait_for(3)
        agent.send_signal(signal.SIGTERM)
        _, stderr = agent.communicate(timeout=20)
    exporter.shutdown()
    exporter.server_close()
    assert agent.returncode == 0, stderr
    told = {metric: value for metric, _, _, value in receiver.points()}
    assert told["gpu_gfx_activity"] == 40
    assert told["taximeter.scrape.up"] == 1
    assert told["taximeter.agent.heartbeat"] == 1


def test_what_is_not_delivered_waits_on_disk_for_the_next_start(
    library: Path, time_line: Callable[..., Path], tmp_path: Path
) -> None:
    """An agent whose collector is away ends with its samples on disk; the next one delivers them first."""
    line = time_line(card_line(0, "GPU-a"))
    environment = {"LD_LIBRARY_PATH": str(library.parent), "FAKE_NVML_TIMELINE": str(line)}
    with serving(Receiver()) as receiver:
        url = receiver.url
    arguments = ["--url", url, "--interval", "0.1", "--buffer", str(tmp_path / "spool")]
    first = _start(arguments, environment)
    time.sleep(1.5)
    first.send_signal(signal.SIGTERM)
    _, stderr = first.communicate(timeout=30)
    assert "for the next start" in stderr
    with serving(Receiver(), int(url.rpartition(":")[2])) as receiver:
        second = _start(arguments, environment)
        assert receiver.wait_for(2)
        second.send_signal(signal.SIGTERM)
        _, stderr = second.communicate(timeout=30)
    assert "of an earlier run wait" in stderr
    ticks = [t for m, a, t, _ in receiver.points() if m == "up" and a["gpu.uuid"] == "GPU-a"]
    assert ticks == sorted(set(ticks))
