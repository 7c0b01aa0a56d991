"""What a file is, by its content: the list of formats, in the order in which they are tried."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import pyarrow as pa

from collector.formats.aider import is_aider, read_aider
from collector.formats.claude_session import is_claude_session, read_claude_session
from collector.formats.documents import read_documents
from collector.formats.focus import is_focus, read_focus
from collector.formats.gpu_rocm_json import is_rocm_json, read_rocm_file
from collector.formats.gpu_samples import is_gpu_csv, is_gpu_parquet, read_csv, read_parquet
from collector.formats.gpu_smi_text import is_smi_text, read_smi_text
from collector.formats.gpu_smi_xml import is_smi_xml, read_smi_file
from collector.formats.jaeger import is_jaeger, read_jaeger
from collector.formats.json_events import Element, read_elements
from collector.formats.langfuse import is_langfuse, read_langfuse
from collector.formats.litellm_spend import (
    is_litellm_csv,
    is_litellm_spend,
    read_csv_documents,
    read_litellm_spend,
)
from collector.formats.metrics_page import is_page, read_page_file
from collector.formats.otlp_json import OTLP_KEYS, is_otlp, is_tempo, read_otlp, read_tempo
from collector.formats.otlp_protobuf import find_layout, read_protobuf
from collector.formats.otlp_protobufjs import is_otlp_protobufjs, read_otlp_protobufjs
from collector.formats.parts import Bad, Note, Part
from collector.formats.source import open_plain, read_head
from taximeter.errors import BadInputError

Tables = dict[str, pa.Table]
_PARQUET = b"PAR1"
_JSON_STARTS = (b"{", b"[")
# Whoever has not shown a known key by then is not telemetry.
_ELEMENTS_TO_TRY = 10_000


class Reading(NamedTuple):
    """A recognised file: the format's name, its reader, and what else than its bytes its rows depend on."""

    format: str
    read: Callable[[BinaryIO], Iterator[Part | Bad | Note | Tables]]
    salt: str = ""


def detect(path: Path, zone: str | None, where: str, taken_at: str | None = None) -> Reading | None:
    """Tell what a file is; None if it is not telemetry that anything here reads.

    `zone` is how times without a zone are read in sample files; `where` names the file in refusals;
    `taken_at` (ISO text) is when files were taken that tell no time.

    Raises:
        OSError: the file cannot be read.
    """
    head = read_head(path)
    if head.startswith(_PARQUET):
        return _parquet(path, zone, where)
    if told := _machine(head, zone, where, taken_at):
        return told
    if head.removeprefix(b"\xef\xbb\xbf").lstrip()[:1] in _JSON_STARTS:
        return _json(path) or _cut_json(head)
    layout = find_layout(lambda: open_plain(path))
    if layout:
        return Reading(f"otlp-protobuf-{layout.signal}", lambda file: read_protobuf(file, layout))
    return _csv(head, zone, where)


def _machine(head: bytes, zone: str | None, where: str, taken_at: str | None) -> Reading | None:
    """Recognise what a tool or an exporter printed about the cards of a machine."""
    at = taken_at or ""
    if is_rocm_json(head):
        return Reading("rocm-smi-json", lambda file: read_rocm_file(file, zone, where, taken_at), at)
    if is_smi_xml(head):
        return Reading("nvidia-smi-xml", lambda file: read_smi_file(file, zone, where, taken_at), at)
    if is_smi_text(head):
        return Reading("nvidia-smi-text", lambda file: read_smi_text(file, zone, where))
    if is_page(head):
        return Reading("prometheus-page", lambda file: read_page_file(file, zone, taken_at), at)
    return None


def _csv(head: bytes, zone: str | None, where: str) -> Reading | None:
    if is_litellm_csv(head):
        return _LITELLM_CSV
    if is_focus(head):
        return Reading("focus-bill", lambda file: read_focus(file, where))
    if is_gpu_csv(head):
        return Reading("gpu-csv", lambda file: read_csv(file, head, zone, where))
    return None


def _parquet(path: Path, zone: str | None, where: str) -> Reading | None:
    with open_plain(path) as file:
        if not is_gpu_parquet(file):
            return None
    return Reading("gpu-parquet", lambda file: read_parquet(file, zone, where))


def _json(path: Path) -> Reading | None:
    seen: dict[str, Any] = {}
    with open_plain(path) as file:
        try:
            for count, element in enumerate(read_elements(file)):
                if isinstance(element, Element):
                    is_new = element.key not in seen
                    seen.setdefault(element.key, element.value)
                    if reading := (is_new and _record_format(seen)) or _json_format(element):
                        return reading
                if count > _ELEMENTS_TO_TRY:
                    return None
        except BadInputError:
            return None
    return None


def _cut_json(head: bytes) -> Reading | None:
    """Recognise a document without one whole element: empty, or cut so early that it counts as broken."""
    keys = set(re.findall(rb'"(\w+)"\s*:', head))
    if keys & {key.encode() for key in OTLP_KEYS}:
        return _OTLP
    return next((reading for signs, reading in _SIGNS if signs <= keys), None)


def _record_format(seen: Mapping[str, Any]) -> Reading | None:
    """Recognise records by all the top-level keys so far, and the first value of each."""
    return next((reading for is_it, reading in _RECORDS if is_it(seen)), None)


def _json_format(element: Element) -> Reading | None:
    if is_otlp(element):
        return _OTLP
    if is_tempo(element):
        return _TEMPO
    return _JAEGER if is_jaeger(element) else None


_OTLP = Reading("otlp-json", lambda file: read_otlp(read_elements(file)))
_TEMPO = Reading("tempo-json", lambda file: read_tempo(read_elements(file)))
_JAEGER = Reading("jaeger-json", lambda file: read_jaeger(read_elements(file)))
_CLAUDE = Reading("claude-code-session", lambda file: read_claude_session(read_documents(file)))
_AIDER = Reading("aider-log", lambda file: read_aider(read_documents(file)))
_LANGFUSE = Reading("langfuse-json", lambda file: read_langfuse(read_documents(file)))
_LITELLM = Reading("litellm-spend-json", lambda file: read_litellm_spend(read_documents(file)))
_LITELLM_CSV = Reading("litellm-spend-csv", lambda file: read_litellm_spend(read_csv_documents(file)))
_PROTOBUFJS = Reading("otlp-protobufjs", lambda file: read_otlp_protobufjs(read_documents(file)))
_RECORDS: tuple[tuple[Callable[[Mapping[str, Any]], bool], Reading], ...] = (
    (is_otlp_protobufjs, _PROTOBUFJS),
    (is_claude_session, _CLAUDE),
    (is_aider, _AIDER),
    (is_langfuse, _LANGFUSE),
    (is_litellm_spend, _LITELLM),
)
_SIGNS: tuple[tuple[set[bytes], Reading], ...] = (
    ({b"batches", b"resource"}, _TEMPO),
    ({b"data", b"traceID"}, _JAEGER),
    ({b"sessionId", b"isSidechain", b"parentUuid"}, _CLAUDE),
    ({b"projectId", b"observations", b"traceId", b"parentObservationId"}, _LANGFUSE),
    ({b"request_id", b"spend", b"prompt_tokens", b"completion_tokens", b"startTime"}, _LITELLM),
)
