"""The test's driver library, built once, and a way to replay a time line through the real sampler."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

import pytest

from collector.agent.testing import Replayed, Sampled

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "tests" / "fake_nvml"

Replay = Callable[..., Replayed]


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    compiler = shutil.which("gcc")
    if not compiler:
        pytest.skip("no gcc here: the test's driver library cannot be built")
    try:
        header = next(p for p in files("nvidia-nvml-dev") or [] if p.name == "nvml.h")
    except PackageNotFoundError:
        pytest.skip("nvidia-nvml-dev is not installed: there is no nvml.h to build against")
    built = tmp_path_factory.mktemp("nvml") / "libnvidia-ml.so.1"
    include = str(Path(str(header.locate())).parent)
    soname = "-Wl,-soname,libnvidia-ml.so.1"
    command = [compiler, "-shared", "-fPIC", "-Wall", "-Werror", soname, f"-I{include}", "-o", str(built)]
    subprocess.run([*command, str(SOURCE / "fake_nvml.c")], check=True, timeout=60)
    return built


@pytest.fixture
def time_line(tmp_path: Path) -> Callable[..., Path]:
    def write(*lines: str) -> Path:
        path = tmp_path / "time-line.txt"
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


@pytest.fixture
def replay(library: Path, time_line: Callable[..., Path]) -> Replay:
    def run(*lines: str, seconds: float = 0, interval_s: float = 1, how: str = "") -> Replayed:
        command = [sys.executable, str(SOURCE / "replay.py"), str(library), str(seconds), str(interval_s)]
        command += how.split()
        environment = {**os.environ, "FAKE_NVML_TIMELINE": str(time_line(*lines)), "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
        return Replayed([Sampled(*row) for row in answer.pop("samples")], **answer)

    return run
