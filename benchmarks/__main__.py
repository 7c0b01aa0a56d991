"""All benchmarks, one after the other: `make bench`, or `python -m benchmarks NAME` for one of them.

They print what they measure and gate nothing. Machines are shared: quote ratios within one run, and CPU
seconds before wall seconds.
"""

import runpy
import sys
from pathlib import Path

HERE = Path(__file__).parent


def main() -> None:
    """Run the benchmarks named on the command line, or all of them."""
    names = sys.argv[1:] or sorted(path.stem for path in HERE.glob("[!_]*.py"))
    for name in names:
        print(f"== {name}", flush=True)
        sys.argv = [name]
        runpy.run_module(f"benchmarks.{name}", run_name="__main__")


if __name__ == "__main__":
    main()
