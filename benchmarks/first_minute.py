"""How long `taximeter demo` takes to print its URL (goal 20 s) and its first page to answer (goal 3 s)."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path


def main() -> None:
    """Run one demo to its URL, fetch the page once, and stop it."""
    with tempfile.TemporaryDirectory() as folder:
        start = time.monotonic()
        demo = subprocess.Popen(
            [sys.executable, "-m", "taximeter", "demo", "--no-live", "--data", str(Path(folder) / "demo")],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        try:
            url = demo.stdout.readline().strip() if demo.stdout else ""
            url_s = time.monotonic() - start
            with urllib.request.urlopen(url) as page:
                page.read()
            page_s = time.monotonic() - start - url_s
        finally:
            demo.send_signal(signal.SIGINT)
            demo.wait()
    load = os.getloadavg()[0]
    print(f"demo: URL after {url_s:.1f} s, page in {page_s:.2f} s (load average {load:.1f})")


if __name__ == "__main__":
    main()
