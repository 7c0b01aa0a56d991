"""Measure ours and the peers in one run: `python -m benchmarks.ingest [--phoenix] [--json FILE]`.

Ours and rotel take turns in each shape, so that both meet the same minute of a shared machine.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from benchmarks.ingest import targets
from benchmarks.ingest.measure import Accepted, Shape, Stored, accepted, stored
from benchmarks.ingest.words import page, table

SHAPES = (
    Shape(),
    Shape(connections=1),
    Shape(connections=16),
    Shape(connections=64),
    Shape(spans=10, connections=16),
    Shape(gzip=True),
    Shape(encoding="json"),
    Shape(transport="grpc"),
    Shape(transport="grpc", spans=10, connections=16),
)
PHOENIX_SPANS_PER_S = 2_000.0  # more than it stores; what it takes beyond that waits in its memory


def main() -> None:
    """Run the shapes, then the rates, and print ratios first."""
    options = _options()
    shapes = [row for shape in SHAPES for row in _in_turns(shape, options.seconds)]
    rates = list(_stored(options))
    document = {
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "accepted": [asdict(row) for row in shapes],
        "stored": [asdict(row) for row in rates],
    }
    print(table(document))
    if options.json:
        options.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    if options.page:
        options.page.write_text(page(document), encoding="utf-8")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="how long each shape is sent")
    parser.add_argument("--rate-seconds", type=float, default=30.0, help="how long each rate is sent")
    parser.add_argument(
        "--rates", type=float, nargs="*", default=[10_000, 20_000, 40_000], help="spans a second to store"
    )
    parser.add_argument("--phoenix", action="store_true", help="measure Arize Phoenix too: a large download")
    parser.add_argument("--json", type=Path, help="write all figures to this file")
    parser.add_argument("--page", type=Path, help="write the page docs/performance.md is made of")
    return parser.parse_args()


def _in_turns(shape: Shape, seconds: float) -> Iterator[Accepted]:
    """Measure the peer and ours right after one another, each on a folder of its own."""
    for make in (targets.rotel, targets.ours):
        with tempfile.TemporaryDirectory() as folder, make(Path(folder)) as target:
            row = accepted(target, shape, seconds)
        print(f"{row.target:10} {shape} {row.spans_per_s:,.0f} spans/s", file=sys.stderr, flush=True)
        yield row


def _stored(options: argparse.Namespace) -> Iterator[Stored]:
    """Measure what becomes rows: ours at each rate, Phoenix at more than it can."""
    plans = [(targets.ours, rate) for rate in options.rates]
    if options.phoenix:
        plans.append((targets.phoenix, PHOENIX_SPANS_PER_S))
    for make, rate in plans:
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            target = stack.enter_context(make(folder))
            row = stored(target, rate, options.rate_seconds)
        print(f"{row.target:10} {rate:,.0f} spans/s offered: {row}", file=sys.stderr, flush=True)
        yield row


if __name__ == "__main__":
    main()
