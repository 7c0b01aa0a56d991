"""Which server a process is: from command lines, environments and parents, and nothing else of them."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from collector.agent.processes import Processes
from collector.agent.served import Served, read_served, servers

CONTAINER = "c" * 64


def read(words: str, **environment: str) -> Served | None:
    def ask() -> Mapping[str, str]:
        return environment

    return read_served(words.split(), ask)


@pytest.mark.parametrize(
    ("words", "port", "model"),
    [
        ("vllm serve Qwen/Qwen3-Coder --port 8001", 8001, "Qwen/Qwen3-Coder"),
        ("/opt/venv/bin/python3.12 /opt/venv/bin/vllm serve a/b --served-model-name coder", 8000, "coder"),
        ("python -m vllm.entrypoints.openai.api_server --model=a/b --port=9", 9, "a/b"),
        ("python -m sglang.launch_server --model-path a/b", 30000, "a/b"),
        ("./llama-server -m /models/x.gguf --alias small", 8080, "small"),
        ("text-generation-launcher --model-id m/n -p 81", 81, "m/n"),
        ("ollama serve", 11434, None),
        ("tritonserver --model-repository /m --http-port 8100", 8100, None),
        ("trtllm-serve a/b --port 8200", 8200, "a/b"),
    ],
)
def test_servers_are_known_by_their_command_lines(words: str, port: int, model: str | None) -> None:
    """Port and model come from the server's own options, defaults where they are not given."""
    assert read(words) == Served(port, model)


def test_what_no_option_says_the_environment_may() -> None:
    """A server's own variables count where its command line is silent, and only those."""
    assert read("text-generation-launcher", MODEL_ID="m/n", PORT="82") == Served(82, "m/n")
    assert read("vllm serve a/b", MODEL_ID="other", PORT="1") == Served(8000, "a/b")


@pytest.mark.parametrize("words", ["python train.py --model a/b --port 1", "", "bash", "nvllm serve a"])
def test_another_program_serves_nothing(words: str) -> None:
    """A program that is no server is not taken for one because it has a model."""
    assert read(words) is None


def test_what_may_be_a_secret_is_no_model() -> None:
    """Only what looks like a model's name or path is kept of a command line."""
    assert read("vllm serve https://user:pw@host/m --port 8000") == Served(8000, None)
    assert read("vllm serve a/b --api-key sk-1 --port 8000:x") == Served(None, "a/b")


def test_the_table_names_every_program_once() -> None:
    """No two servers claim the same first words."""
    programs = [tuple(program) for server in servers() for program in server.program]
    assert len(programs) == len(set(programs))


def process(root: Path, pid: int, words: str, parent: int = 1, container: str | None = None) -> None:
    folder = root / "proc" / str(pid)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_text(words.replace(" ", "\0") + "\0")
    (folder / "environ").write_text("SECRET=s3\0")
    (folder / "stat").write_text(f"{pid} (a (b) c) S {parent} " + "0 " * 17 + f"{pid}00 0 0\n")
    (folder / "cgroup").write_text(f"0::/kubepods/{container}\n" if container else "0::/\n")


def test_a_worker_is_known_by_the_server_that_started_it(tmp_path: Path) -> None:
    """The process that holds the memory is renamed by its server; its parents say whose it is."""
    process(tmp_path, 10, "vllm serve a/b --port 8001")
    process(tmp_path, 11, "sh", parent=10)
    process(tmp_path, 12, "VLLM::EngineCore", parent=11)
    assert Processes(tmp_path).served(12) == Served(8001, "a/b")


def test_a_container_is_named_by_its_pod(tmp_path: Path) -> None:
    """On a Kubernetes node the log links say which pod a container belongs to."""
    process(tmp_path, 10, "vllm serve a/b", container=CONTAINER)
    links = tmp_path / "var" / "log" / "containers"
    links.mkdir(parents=True)
    (links / f"coder-0_ml_engine-{CONTAINER}.log").touch()
    assert Processes(tmp_path).served(10) == Served(8000, "a/b", "ml/coder-0/engine")


def test_an_id_that_was_used_again_is_another_process(tmp_path: Path) -> None:
    """Process ids come round: what was known of the first is not said of the second."""
    process(tmp_path, 10, "vllm serve a/b")
    processes = Processes(tmp_path)
    assert processes.served(10) == Served(8000, "a/b")
    stat = tmp_path / "proc" / "10" / "stat"
    stat.write_text(stat.read_text().replace("1000 0 0", "9999 0 0"))
    (tmp_path / "proc" / "10" / "cmdline").write_text("vllm\0serve\0c/d\0")
    assert processes.served(10) == Served(8000, "c/d")


def test_a_process_that_ended_or_hides_is_unknown(tmp_path: Path) -> None:
    """Nothing is guessed of a process that cannot be read."""
    assert Processes(tmp_path).served(99) is None


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc here")
def test_a_real_process_of_this_machine_is_read(tmp_path: Path) -> None:
    """A real child whose command line is a server's is named through the real /proc."""
    server = tmp_path / "vllm"
    server.write_text("import time\ntime.sleep(30)\n")
    child = subprocess.Popen([sys.executable, str(server), "serve", "a/b", "--port", "8005"])
    try:
        assert Processes().served(child.pid) == Served(8005, "a/b")
    finally:
        child.kill()
        child.wait()
