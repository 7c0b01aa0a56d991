"""A warehouse for tests: a real HTTP server that answers reports from tables in memory."""

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from dashboard.source import Source

Row = dict[str, Any]
Reports = Mapping[str, pa.Table]
Asked = list[tuple[str, dict[str, str]]]
Served = tuple[Source, Asked]

TEXT, COUNT, NUMBER, FLAG = pa.string(), pa.int64(), pa.float64(), pa.bool_()
AT, USD = pa.timestamp("us"), pa.decimal128(38, 12)

_TOKENS = ("input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
_COLUMNS: dict[str, dict[str, pa.DataType]] = {
    "tasks": {
        **dict.fromkeys(("task_id", "name", "agent", "task_type", "tenant", "session", "status"), TEXT),
        "trace_ids": pa.list_(TEXT),
        **dict.fromkeys(("started_at", "ended_at"), AT),
        "duration_s": NUMBER,
        **dict.fromkeys(
            (
                "steps",
                "rounds",
                "llm_calls",
                "llm_attempts",
                "retries",
                "tool_calls",
                "tool_retries",
                "loops",
            ),
            COUNT,
        ),
        **dict.fromkeys(_TOKENS, COUNT),
        **dict.fromkeys(("total_tokens", "unexplained_tokens", "single_pass_tokens"), COUNT),
        "token_multiplier": NUMBER,
        **dict.fromkeys(("token_cost_usd", "token_cost_low_usd", "token_cost_high_usd"), USD),
        **dict.fromkeys(("gpu_cost_usd", "wait_cost_usd", "total_cost_usd", "single_pass_cost_usd"), USD),
        **dict.fromkeys(("cost_multiplier", "usage_known_ratio", "priced_ratio", "gpu_known_ratio"), NUMBER),
        **dict.fromkeys(("provisional", "simulated"), FLAG),
    },
    "task_steps": {
        **dict.fromkeys(("task_id", "step_id", "parent_step_id", "thread"), TEXT),
        "round": COUNT,
        **dict.fromkeys(("kind", "name", "agent", "tool_name", "model", "deployment", "price_source"), TEXT),
        "started_at": AT,
        **dict.fromkeys(("duration_s", "slack_s"), NUMBER),
        "status": TEXT,
        "attempt": COUNT,
        "counted": FLAG,
        **dict.fromkeys(_TOKENS, COUNT),
        **dict.fromkeys(("ttft_s", "queue_s"), NUMBER),
        "cost_usd": USD,
        **dict.fromkeys(("token_provenance", "cost_provenance", "gpu_provenance"), TEXT),
    },
    "multipliers": {
        **dict.fromkeys(("group_key", "bucket"), TEXT),
        "tokens": COUNT,
        "cost_usd": USD,
        **dict.fromkeys(("share_ratio", "factor_ratio", "token_factor_ratio"), NUMBER),
        **dict.fromkeys(("tasks", "cost_tasks", "tasks_left_out"), COUNT),
    },
    "gpu_ledger": {
        "quarter_at": AT,
        **dict.fromkeys(("gpu_id", "deployment", "replica", "state", "cause", "provenance"), TEXT),
        "gpu_s": NUMBER,
        "cost_usd": USD,
        "provisional": FLAG,
    },
    "idle_waste": {
        **dict.fromkeys(("cause", "deployment", "tool"), TEXT),
        "gpu_s": NUMBER,
        **dict.fromkeys(("cost_usd", "cost_low_usd", "cost_high_usd"), USD),
        "concurrency": COUNT,
    },
    "spend": {
        "day": pa.date32(),
        "group_key": TEXT,
        **dict.fromkeys(("token_cost_usd", "gpu_cost_usd", "idle_cost_usd", "total_cost_usd"), USD),
        "unknown_costs": COUNT,
    },
    "gpu_timeline": {
        **dict.fromkeys(("gpu_id", "deployment", "replica", "state", "cause", "provenance"), TEXT),
        "stalled": FLAG,
        **dict.fromkeys(("started_at", "ended_at"), AT),
        "duration_s": NUMBER,
    },
    "gpu_series": {
        "t_at": AT,
        **dict.fromkeys(("gpu_id", "gpu_name", "deployment"), TEXT),
        **dict.fromkeys(("util_ratio", "memory_used_mib", "power_w"), NUMBER),
    },
    "gpus_now": {
        **dict.fromkeys(("gpu_id", "gpu_name", "sku", "deployment", "replica", "state"), TEXT),
        "since_at": AT,
        "idle_s": NUMBER,
        "last_sample_at": AT,
        "last_util_ratio": NUMBER,
        "usd_per_hour": USD,
        "price_source": TEXT,
        "simulated": FLAG,
    },
    "replica_need": {
        "deployment": TEXT,
        **dict.fromkeys(("replicas", "most_needed", "never_needed"), COUNT),
        "usd_per_replica_hour": USD,
        **dict.fromkeys(("from_at", "until_at"), AT),
        "coverage_ratio": NUMBER,
        "open_tasks": COUNT,
    },
    "recommendations": {
        **dict.fromkeys(("advice_id", "verdict", "kind", "target", "deployment", "agent", "sentence"), TEXT),
        **dict.fromkeys(("saving_usd_month", "saving_low_usd_month", "saving_high_usd_month"), USD),
        "cost_usd_month": USD,
        "is_replayed": FLAG,
        "assumption": TEXT,
        **dict.fromkeys(("added_wait_s_p50", "added_wait_s_p95", "added_wait_s_p99", "slo_ratio"), NUMBER),
        **dict.fromkeys(("confidence", "signal"), TEXT),
        **dict.fromkeys(("coverage_ratio", "calibration_error_ratio"), NUMBER),
        **dict.fromkeys(("evidence_report", "evidence_params"), TEXT),
        "evidence_rows": COUNT,
        **dict.fromkeys(("change", "manifest", "price_source", "provenance"), TEXT),
        **dict.fromkeys(("from_at", "until_at", "made_at", "followed_at"), AT),
        "run_id": TEXT,
        "simulated": FLAG,
    },
    "recommendations_followed": {
        **dict.fromkeys(("advice_id", "kind", "target", "why_not"), TEXT),
        "followed_at": AT,
        **dict.fromkeys(("predicted_usd_month", "predicted_low_usd_month", "predicted_high_usd_month"), USD),
        **dict.fromkeys(("saved_usd_month", "saved_per_task_usd_month"), USD),
        **dict.fromkeys(("tasks_per_day_before", "tasks_per_day_after"), NUMBER),
    },
    "no_answer": {**dict.fromkeys(("task_id", "name", "reason"), TEXT), "started_at": AT},
    "unmatched": {**dict.fromkeys(("reason", "deployment", "model"), TEXT), "calls": COUNT},
    "unplaced": {"quarter_at": AT, "deployment": TEXT, "step_s": NUMBER},
    "health": {**dict.fromkeys(("check", "status", "unit", "detail"), TEXT), "value": NUMBER},
    "unpriced": {**dict.fromkeys(("provider", "model"), TEXT), **dict.fromkeys(("steps", "tokens"), COUNT)},
    "refused": {
        "received_at": AT,
        **dict.fromkeys(("signal", "source", "field", "reason"), TEXT),
    },
}


def table(name: str, rows: Sequence[Row]) -> pa.Table:
    """Make a report's table from rows; columns that a row leaves out are null, unknown ones are refused.

    Raises:
        KeyError: a row names a column that the report does not have.
    """
    columns = _COLUMNS[name]
    stray = {key for row in rows for key in row} - set(columns)
    if stray:
        raise KeyError(*stray)
    return pa.table(
        {key: pa.array([row.get(key) for row in rows], kind) for key, kind in columns.items()},
    )


def empty() -> dict[str, pa.Table]:
    """Make every report without a row, as a fresh installation answers."""
    return {name: table(name, []) for name in _COLUMNS}


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    reports: Reports
    asked: Asked


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        """Answer /v1/reports/NAME as an Arrow stream, keeping what was asked; task_id picks rows."""
        address = urlsplit(self.path)
        name, query = address.path.rpartition("/")[2], dict(parse_qsl(address.query))
        self.server.asked.append((name, query))
        if name not in self.server.reports:
            self._answer(404, "application/json", json.dumps({"error": f"no report {name}"}).encode())
            return
        answer = self.server.reports[name]
        for key in ("task_id", "deployment"):
            if key in query and key in answer.column_names:
                answer = answer.filter(pc.equal(answer[key], query[key]))
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, answer.schema) as writer:
            writer.write_table(answer)
        self._answer(200, "application/vnd.apache.arrow.stream", sink.getvalue().to_pybytes())

    def _answer(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Keep test output quiet."""


@contextmanager
def warehouse(reports: Reports) -> Iterator[Served]:
    """Serve reports on a free port of loopback; gives the source to hand in and what was asked."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.reports, server.asked = reports, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        url = f"http://127.0.0.1:{server.server_port}"
        yield (
            Source(url, None, "UTC", "http://127.0.0.1:4318", "http://127.0.0.1:4317"),
            server.asked,
        )
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
