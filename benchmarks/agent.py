"""What the GPU agent costs: CPU of one core and memory, for 8 GPUs at 1 s over a driver as slow as real ones.

The test's driver library takes per call what `reference/gpu.md` 1.4 reports of real ones; its waiting is not
the agent's CPU. The goal is under 1 % of a core and under 100 MB.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from importlib.metadata import files
from pathlib import Path

from collector.agent.testing import Receiver, card_line, serving

ROOT = Path(__file__).parents[1]
CARDS = 8
WARM_UP_S = 5.0
MEASURED_S = 60.0
COST_US = {
    "nvmlDeviceGetComputeRunningProcesses_v3": 4491,
    "nvmlDeviceGetPowerUsage": 137,
    "nvmlDeviceGetFieldValues": 137,
    "nvmlDeviceGetTotalEnergyConsumption": 137,
    "nvmlDeviceGetMemoryInfo_v2": 12,
    "nvmlDeviceGetUtilizationRates": 3,
    "nvmlDeviceGetSamples": 100,
    "nvmlGpmSampleGet": 100,
}


def _build(folder: Path) -> Path:
    header = next(path for path in files("nvidia-nvml-dev") or [] if path.name == "nvml.h")
    built = folder / "libnvidia-ml.so.1"
    include = Path(str(header.locate())).parent
    source = ROOT / "tests" / "fake_nvml" / "fake_nvml.c"
    command = ["gcc", "-shared", "-fPIC", "-O2", "-Wl,-soname,libnvidia-ml.so.1", f"-I{include}"]
    subprocess.run([*command, "-o", str(built), str(source)], check=True)
    return built


def _time_line(folder: Path) -> Path:
    cards = [card_line(number, f"GPU-{number:08d}") for number in range(CARDS)]
    costs = " ".join(f"cost.{call}={micros}" for call, micros in COST_US.items())
    work = "util=60 memutil=20 used=60000 gpm=1 sm=40 tensor=10 dram=20 graphics=60"
    busy = [f"0 {number} {work} procs={number + 100}:60000 psm={number + 100}:50" for number in range(CARDS)]
    path = folder / "time-line.txt"
    path.write_text("\n".join([*cards, f"0 * {costs}", *busy]) + "\n")
    return path


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _memory_mb(pid: int) -> float:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6


def main() -> None:
    """Run the agent against the slow driver and print what it used."""
    if not shutil.which("gcc"):
        print("no gcc here: the driver library cannot be built")
        return
    with tempfile.TemporaryDirectory() as name, serving(Receiver()) as receiver:
        folder = Path(name)
        environment = {
            **os.environ,
            "LD_LIBRARY_PATH": str(_build(folder).parent),
            "FAKE_NVML_TIMELINE": str(_time_line(folder)),
            "FAKE_NVML_REAL": "1",
        }
        command = [
            sys.executable,
            "-m",
            "collector.agent",
            "--url",
            receiver.url,
            "--buffer",
            str(folder / "spool"),
        ]
        agent = subprocess.Popen(command, env=environment, cwd=ROOT)
        try:
            time.sleep(WARM_UP_S)
            before_s, began_s = _cpu_s(agent.pid), time.monotonic()
            time.sleep(MEASURED_S)
            used_s, took_s = _cpu_s(agent.pid) - before_s, time.monotonic() - began_s
            memory_mb = _memory_mb(agent.pid)
        finally:
            agent.terminate()
            agent.wait()
    points = len([point for point in receiver.points() if not point[0].startswith("taximeter.agent.")])
    print(f"{CARDS} GPUs every second for {took_s:.0f} s: {points:,} samples sent")
    print(f"CPU {100 * used_s / took_s:.2f} % of one core (goal: under 1 %)")
    print(f"memory {memory_mb:.0f} MB (goal: under 100)")


if __name__ == "__main__":
    main()
