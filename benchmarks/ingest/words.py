"""The figures as a table for the terminal, and as the page that the documentation shows."""

from collections.abc import Iterable, Sequence
from typing import Any

Row = dict[str, Any]
_SHAPE = ("transport", "encoding", "gzip", "spans", "connections")


def table(document: Row) -> str:
    """Write both tables as aligned text, ratios first."""
    return "\n\n".join(_aligned(head, rows) for head, rows in _tables(document))


def page(document: Row) -> str:
    """Write both tables in Markdown, with the machine and the way to measure again."""
    parts = [
        "# How fast spans come in",
        (
            f"Measured on a shared machine of {document['cores']} cores, load generator included (load "
            f"average {document['load_average']:.1f} at the end). Machines differ: read the ratios, which "
            "are to a Rust collector that decodes and throws away (rotel's blackhole) in the same minute. "
            "Measure again with `python -m benchmarks.ingest --phoenix --page docs/performance.md`."
        ),
    ]
    for head, rows in _tables(document):
        lines = [
            "| " + " | ".join(head) + " |",
            "|" + "---|" * len(head),
            *("| " + " | ".join(row) + " |" for row in rows),
        ]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def _tables(document: Row) -> Iterable[tuple[Sequence[str], list[list[str]]]]:
    yield (
        (
            "of rotel",
            "transport",
            "encoding",
            "gzip",
            "spans a request",
            "connections",
            "accepted spans/s",
            "rotel spans/s",
            "p50 ms",
            "p99 ms",
            "CPU s / million",
            "peak MiB",
        ),
        [_accepted(mine, peer) for peer, mine in _pairs(document["accepted"])],
    )
    if document["stored"]:
        yield (
            (
                "receiver",
                "offered spans/s",
                "found by queries spans/s",
                "backlog at the end",
                "drained s",
                "not found",
                "p99 ms",
                "CPU s / million",
                "MB on disk / million",
                "peak MiB",
            ),
            [_stored(row) for row in document["stored"]],
        )


def _pairs(rows: Sequence[Row]) -> Iterable[tuple[Row, Row]]:
    return zip(rows[::2], rows[1::2], strict=True)


def _accepted(mine: Row, peer: Row) -> list[str]:
    return [
        f"{mine['spans_per_s'] / peer['spans_per_s']:.2f}",
        *(str(mine[name]) for name in _SHAPE),
        f"{mine['spans_per_s']:,.0f}",
        f"{peer['spans_per_s']:,.0f}",
        f"{mine['p50_ms']:.1f}",
        f"{mine['p99_ms']:.1f}",
        f"{mine['cpu_s_per_million']:.1f}",
        f"{mine['peak_mib']:.0f}",
    ]


def _stored(row: Row) -> list[str]:
    return [
        row["target"],
        f"{row['offered_spans_per_s']:,.0f}",
        f"{row['stored_spans_per_s']:,.0f}",
        f"{row['backlog_spans']:,}",
        f"{row['drained_s']:.1f}",
        f"{row['missing_spans']:,}",
        f"{row['p99_ms']:.1f}",
        f"{row['cpu_s_per_million']:.1f}",
        f"{row['disk_bytes_per_million'] / 1e6:,.0f}",
        f"{row['peak_mib']:.0f}",
    ]


def _aligned(head: Sequence[str], rows: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in (head, *rows)
    )
