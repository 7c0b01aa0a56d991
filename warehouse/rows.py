"""What may enter the warehouse: the Arrow schema of every kind of row in the inbox.

A block is one folder of the inbox, moved there whole by an atomic rename. It is named
`<journal>-<sequence, 12 digits>` and holds at most one `<kind>.parquet` per kind below. The journal name
holds no dash. One block is a stretch of one journal, or a part of one imported file.
Parquet metadata carries `journal`, `sequence` and `decoder_version` (text). The file `DIGESTS` holds a line
`<blake2b, hex>  <file>` for each file of the block; a block whose bytes are others is not loaded. A block
without that file is taken as it is.

Ids are lower-case hex, instants are nanoseconds UTC, absent is null and never 0 or "".
No column holds text of a prompt, an answer, an argument or a result: only lengths and keyed hashes.
"""

import pyarrow as pa

TEXT = pa.string()
COUNT = pa.int64()
NS = pa.int64()
NUMBER = pa.float64()
FLAG = pa.bool_()
TEXTS = pa.list_(pa.string())
COUNTS = pa.list_(pa.int64())
USD = pa.decimal128(38, 12)

DECODER_VERSION = 1
DIGESTS = "digests"

# One row per span as it arrived. What a span says of itself is settled here; what needs a second span is not.
SPANS = pa.schema(
    [
        ("trace_id", TEXT),
        ("span_id", TEXT),
        ("parent_span_id", TEXT),  # null for a root
        ("start_ns", NS),
        ("end_ns", NS),  # as sent; an end before the start keeps its flag and is set to the start
        ("received_ns", NS),
        ("name", TEXT),
        ("span_kind", TEXT),  # internal server client producer consumer, else null
        ("status", TEXT),  # ok error unset
        ("error_type", TEXT),
        ("tenant", TEXT),
        ("service_name", TEXT),
        ("host", TEXT),  # resource host.name
        ("scope_name", TEXT),
        ("scope_version", TEXT),
        ("schema_url", TEXT),
        ("dialect", TEXT),  # the dialect file that read it, "unknown" where none did
        # llm tool retrieval embedding: can be counted. agent wrapper gateway server attempt transport inner
        # noise: never steps by themselves. "other": a span no dialect knows.
        ("role", TEXT),
        ("operation", TEXT),
        ("provider", TEXT),
        ("model_requested", TEXT),
        ("model_response", TEXT),
        ("response_id", TEXT),
        ("agent_name", TEXT),
        ("agent_id", TEXT),
        ("session_id", TEXT),
        ("user_id", TEXT),
        ("task_key", TEXT),  # value of the dialect's or the user's task key
        ("task_type", TEXT),
        ("task_links", TEXTS),  # trace ids that span links join into one task
        ("tool_name", TEXT),
        ("tool_call_id", TEXT),
        ("tool_read_only", FLAG),
        # Tokens, canonical: input includes cache reads and writes, output includes reasoning.
        ("input_tokens", COUNT),
        ("cache_read_tokens", COUNT),
        ("cache_write_tokens", COUNT),
        ("cache_write_1h_tokens", COUNT),  # the part of cache_write_tokens kept for an hour
        ("output_tokens", COUNT),
        ("reasoning_tokens", COUNT),
        ("total_tokens", COUNT),  # as reported, only for cross-checks
        ("tool_schema_tokens", COUNT),
        ("tool_schema_provenance", TEXT),  # reported or estimated
        # Whether the source's input held the cached part: declared, proved (by arithmetic) or ambiguous.
        # Where ambiguous, input_tokens is the inclusive reading and input_tokens_high the exclusive one.
        ("inclusivity", TEXT),
        ("input_tokens_high", COUNT),
        ("rollup", TEXT),  # what usage on an agent or wrapper means: sum last cumulative copy, else null
        ("outcome", TEXT),  # success or failure, as a user or an evaluation said it of the task
        ("service_tier", TEXT),  # batch flex priority ...: sold at another price; null is the ordinary one
        ("reported_cost_usd", USD),
        ("ttft_ns", NS),
        ("queue_ns", NS),
        ("work_ns", NS),  # a tool's own work, or an engine's own interval, where an inner figure says so
        ("attempts", COUNT),  # tries of this call that the span itself tells of, this one included
        ("attempt_errors", TEXTS),  # error types of the failed tries among them
        ("finish_reason", TEXT),  # stop length tool_calls content_filter error, else the source's own word
        ("asked_tool", FLAG),  # the answer asked for at least one tool
        ("is_stream", FLAG),
        ("cached_answer", FLAG),  # a gateway's cache answered: no tokens were paid
        ("server_address", TEXT),
        ("server_port", COUNT),
        ("deployment", TEXT),  # explicit attribute taximeter.deployment
        ("replica", TEXT),  # explicit attribute taximeter.replica
        # Content, as lengths and keyed hashes (HMAC-SHA256, 16 bytes hex).
        ("input_hash", TEXT),
        ("output_hash", TEXT),
        ("message_hashes", TEXTS),  # one per input message, in order
        ("message_bytes", COUNTS),  # their lengths, in the same order
        ("input_bytes", COUNT),
        ("output_bytes", COUNT),
        ("args_hash", TEXT),
        ("args_shape_hash", TEXT),  # times, ids and numbers masked first
        ("result_hash", TEXT),
        ("args_bytes", COUNT),
        ("result_bytes", COUNT),
        ("content_text", TEXT),  # only with content.capture = text
        ("sources", TEXT),  # JSON object: canonical field -> attribute that gave it
        ("flags", TEXTS),  # end_before_start, head_sampled, cut_content, cache_added, untimed, ...
        ("simulated", FLAG),
        # span, or log: a log record that tells of a call, with ids made of its session, prompt and request.
        ("signal", TEXT),
        ("filled", COUNT),  # number of fields that are not null: of two versions the fuller wins
        ("row_hash", TEXT),  # hash of the row's own content, receipt excluded
    ]
)

# One row per GPU, metric and instant. A metric that was not measured has no row.
SAMPLES = pa.schema(
    [
        ("tenant", TEXT),
        ("host", TEXT),
        ("gpu_uuid", TEXT),
        ("bus_id", TEXT),
        ("gpu_index", COUNT),
        ("gpu_name", TEXT),  # as the source says it, such as NVIDIA H100 80GB HBM3
        ("parent_uuid", TEXT),  # of a slice of a card (MIG): the card's uuid
        ("slices", COUNT),  # of a slice: how many of the card's seven compute slices it is
        ("deployment", TEXT),  # as the resource or the point names it
        ("served_model", TEXT),  # of a process metric: the model that its command line serves
        ("served_port", COUNT),  # of a process metric: the port that its command line listens on
        ("workload", TEXT),  # namespace/pod/container that holds the card, as an exporter says it
        ("source", TEXT),  # nvml dcgm ... : who measured
        ("metric", TEXT),  # a key of GPU_METRICS
        ("pid", COUNT),  # only for process metrics
        ("t_ns", NS),
        ("value", NUMBER),
        ("simulated", FLAG),
    ]
)

# Canonical GPU metrics and their units. `up` is 1 for a card that answered and 0 for one that is lost.
GPU_METRICS = {
    "up": "1 answered, 0 lost",
    "util_ratio": "0..1 share of the time since the last sample with a kernel resident",
    "util_max_ratio": "0..1 the same in the driver's busiest period (1/6 s to 1 s) since the last sample",
    "memory_util_ratio": "0..1 share of the last period in which memory moved",
    "sm_active_ratio": "0..1 share of multiprocessors and time since the last sample that were busy",
    "tensor_active_ratio": "0..1 share of the time since the last sample in which tensor cores worked",
    "dram_active_ratio": "0..1 share of the memory bandwidth used since the last sample",
    "over_full_percent": "%, a load counter above 100 as it was told; its ratio is 1, or unknown over 110",
    "memory_total_mib": "MiB",
    "memory_used_mib": "MiB, driver reserve excluded",
    "memory_reserved_mib": "MiB",
    "power_w": "W, of the card alone",
    "module_power_w": "W, of a superchip's whole module",
    "power_limit_w": "W",
    "energy_j": "J since the driver was loaded",
    "processes": "processes that hold memory",
    "process_memory_mib": "MiB held by one process",
    "process_sm_ratio": "0..1 share of the multiprocessors' time that one process took; absent is not zero",
    "xid": "NVIDIA's number of a critical error, at the tick that heard of it (999: not known)",
    "pcie_tx_kb_s": "kB/s sent over PCIe in a window of 20 ms",
    "pcie_rx_kb_s": "kB/s received over PCIe in a window of 20 ms",
    "nvlink_tx_kib": "KiB sent over all NVLinks since the driver was loaded",
    "nvlink_rx_kib": "KiB received over all NVLinks since the driver was loaded",
    "clock_offset_s": "s, sampler's clock less the collector's",
}

# One row per log record; bodies are never kept, only their length and hash.
LOGS = pa.schema(
    [
        ("t_ns", NS),
        ("received_ns", NS),
        ("tenant", TEXT),
        ("trace_id", TEXT),
        ("span_id", TEXT),
        ("service_name", TEXT),
        ("scope_name", TEXT),
        ("event_name", TEXT),
        ("severity", COUNT),
        ("session_id", TEXT),
        ("body_bytes", COUNT),
        ("body_hash", TEXT),
        ("simulated", FLAG),
        ("row_hash", TEXT),
    ]
)

# One row per metric point that is not a GPU sample. Key: (stream, start, t).
POINTS = pa.schema(
    [
        ("tenant", TEXT),
        ("host", TEXT),
        ("service_name", TEXT),
        ("scope_name", TEXT),
        ("metric", TEXT),
        ("unit", TEXT),
        ("kind", TEXT),  # gauge sum histogram exponential_histogram summary
        ("temporality", TEXT),  # delta cumulative, else null
        ("monotonic", FLAG),
        ("start_ns", NS),
        ("t_ns", NS),
        ("value", NUMBER),  # of a histogram: its sum
        ("count", COUNT),
        ("attributes", TEXT),  # JSON object with sorted keys, cut attributes left out
        ("stream_hash", TEXT),
        ("simulated", FLAG),
    ]
)

# One row per thing that was not taken, with the reason; never the text that was refused.
REFUSED = pa.schema(
    [
        ("received_ns", NS),
        ("tenant", TEXT),
        ("signal", TEXT),  # traces metrics logs file
        ("source", TEXT),  # peer or file name
        ("trace_id", TEXT),
        ("span_id", TEXT),
        ("field", TEXT),
        ("value", TEXT),  # a number as sent; of text only its length
        (
            "reason",
            TEXT,
        ),  # negative not_a_number not_finite too_large bad_id no_start end_before_start undecodable too_late
    ]
)

# One row per line of an imported bill, in USD. Of several files for one account and period the newest counts.
BILLS = pa.schema(
    [
        ("received_ns", NS),
        ("tenant", TEXT),
        ("file", TEXT),
        ("line", COUNT),
        ("account", TEXT),
        ("provider", TEXT),
        ("service", TEXT),
        ("sku", TEXT),
        ("resource", TEXT),
        ("region", TEXT),
        ("category", TEXT),
        ("description", TEXT),
        ("unit", TEXT),
        ("period_ns", NS),  # start of the billing period
        ("from_ns", NS),
        ("to_ns", NS),
        ("billed_usd", USD),
        ("quantity", NUMBER),
    ]
)

# One row per piece of advice, per reason why none is given, per combined saving of a run, and per advice that
# somebody followed. Savings are of a month of 730 hours; null is unknown.
RECOMMENDATIONS = pa.schema(
    [
        ("advice_id", TEXT),  # the same advice about the same thing has the same id in every run
        ("run_id", TEXT),
        ("made_ns", NS),
        ("verdict", TEXT),  # advice none combined followed
        ("kind", TEXT),  # scale_down prompt_cache ..., null for what is about all kinds
        ("target", TEXT),  # what it is about: a deployment, a card, an agent's calls to a model
        ("deployment", TEXT),
        ("agent", TEXT),
        ("from_ns", NS),  # the settled time it rests on
        ("until_ns", NS),
        ("sentence", TEXT),
        ("change", TEXT),  # what to change, in words
        ("manifest", TEXT),  # what to change, as a file to apply
        ("cost_usd_month", USD),  # what the changed part costs as it is
        ("saving_usd_month", USD),  # replayed on the recording; null where it is a range
        ("saving_low_usd_month", USD),
        ("saving_high_usd_month", USD),
        ("is_replayed", FLAG),
        ("assumption", TEXT),
        ("signal", TEXT),  # what tells that it can be done: a name, and where it stands
        ("added_wait_s_p50", NUMBER),
        ("added_wait_s_p95", NUMBER),
        ("added_wait_s_p99", NUMBER),
        ("slo_ratio", NUMBER),
        ("confidence", TEXT),  # high medium low
        ("coverage_ratio", NUMBER),
        ("calibration_error_ratio", NUMBER),
        ("evidence_report", TEXT),
        ("evidence_params", TEXT),  # JSON object: the filter that opens the rows
        ("evidence_rows", COUNT),
        ("price_source", TEXT),
        ("provenance", TEXT),  # simulated or assumed
        ("simulated", FLAG),  # the recording says of itself that it is simulated
    ]
)

SCHEMAS = {
    "spans": SPANS,
    "samples": SAMPLES,
    "logs": LOGS,
    "points": POINTS,
    "refused": REFUSED,
    "bills": BILLS,
    "recommendations": RECOMMENDATIONS,
}


def block_name(journal: str, sequence: int) -> str:
    """Name the inbox folder of a block; sorting names sorts blocks of one journal."""
    return f"{journal}-{sequence:012d}"


def parse_block_name(name: str) -> tuple[str, int]:
    """Read a block's journal and sequence from its folder name.

    Raises:
        ValueError: the name is not one that `block_name` makes.
    """
    journal, _, digits = name.partition("-")
    if not journal or len(digits) != 12 or not digits.isdigit():  # noqa: PLR2004
        message = f"{name!r} does not name a block"
        raise ValueError(message)
    return journal, int(digits)
