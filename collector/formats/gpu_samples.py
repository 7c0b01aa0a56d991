"""GPU samples as CSV or Parquet, one row per GPU and instant: what nvidia-smi's query mode and people write.

Column names are in gpu_columns.yaml. An empty cell or N/A is no sample; what cannot be is refused.
"""

from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import polars as pl
import pyarrow as pa
from pyarrow import csv, parquet

from collector.formats.gpu_columns import Columns, MetricColumn, find_columns, words
from collector.formats.gpu_time import to_instants
from taximeter.errors import BadInputError
from warehouse import rows

ROWS_PER_TABLE = 50_000
_CSV_BLOCK_BYTES = 4 * 1024 * 1024
_DELIMITERS = ",;\t"
_NUMBER = r"^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?$"
_RATIOS = {"util_ratio", "memory_util_ratio", "up"}
_SIGNED = {"clock_offset_s"}


def is_gpu_csv(head: bytes) -> bool:
    """Tell from a file's first bytes whether it is a CSV of GPU samples."""
    line = _first_line(head)
    return find_columns(line.split(_delimiter(line))).is_complete


def is_gpu_parquet(file: BinaryIO) -> bool:
    """Tell whether a Parquet file holds GPU samples; false for what cannot be read."""
    try:
        return find_columns(parquet.read_schema(file).names).is_complete
    except (pa.ArrowInvalid, OSError):
        return False


def read_csv(
    file: BinaryIO, head: bytes, zone: str | None, where: str, columns: Columns | None = None
) -> Iterator[dict[str, pa.Table]]:
    """Hand on tables of samples and of refused cells; a row with another number of cells is refused.

    Columns mean what `columns` says, else what their names say.

    Raises:
        BadInputError: the rest of the file cannot be read as CSV.
    """
    line = _first_line(head)
    names = [name.strip() for name in line.split(_delimiter(line))]
    ragged: list[int] = []

    def skip(row: Any) -> str:
        ragged.append(row.actual_columns)
        return "skip"

    try:
        reader = csv.open_csv(
            file,
            read_options=csv.ReadOptions(column_names=names, skip_rows=1, block_size=_CSV_BLOCK_BYTES),
            parse_options=csv.ParseOptions(delimiter=_delimiter(line), invalid_row_handler=skip),
            convert_options=csv.ConvertOptions(column_types=dict.fromkeys(names, pa.string())),
        )
        for batch in reader:
            yield to_tables(batch, zone, where, _take_all(ragged), columns)
    except pa.ArrowInvalid as error:
        raise BadInputError(str(error).splitlines()[0]) from None


def read_parquet(file: BinaryIO, zone: str | None, where: str) -> Iterator[dict[str, pa.Table]]:
    """Hand on tables of samples and of refused cells.

    Raises:
        BadInputError: the file cannot be read as Parquet.
    """
    try:
        source = parquet.ParquetFile(file)
        columns = find_columns(source.schema_arrow.names)
        wanted = [*columns.identity.values(), *(column.name for column in columns.metrics)]
        for batch in source.iter_batches(ROWS_PER_TABLE, columns=wanted):
            yield to_tables(batch, zone, where, [])
    except (pa.ArrowInvalid, OSError) as error:
        raise BadInputError(str(error).splitlines()[0]) from None


def _take_all(items: list[int]) -> list[int]:
    taken = items.copy()
    items.clear()
    return taken


def _first_line(head: bytes) -> str:
    return head.decode("utf-8-sig", "replace").lstrip().partition("\n")[0].rstrip("\r")


def _delimiter(line: str) -> str:
    return max(_DELIMITERS, key=line.count)


def to_tables(
    batch: pa.RecordBatch,
    zone: str | None,
    where: str,
    ragged: Iterable[int] = (),
    columns: Columns | None = None,
) -> dict[str, pa.Table]:
    """Make samples and refusals of rows; `ragged` are the cell counts of rows that had another number."""
    frame = pl.DataFrame(pl.from_arrow(pa.Table.from_batches([batch])))
    columns = columns or find_columns(frame.columns)
    base = _identity(frame, columns, zone)
    samples, refused = [], [_refused(where, "row", f"{count} cells", "undecodable") for count in ragged]
    lost = _lost_rows(frame, columns)
    if "up" not in {column.metric for column in columns.metrics}:
        samples.append(_long(base.filter(lost), "up", pl.Series([0.0] * int(lost.sum()), dtype=pl.Float64)))
    for column in columns.metrics:
        values, reasons, raw = _numbers(frame[column.name], column)
        good = base["t_ns"].is_not_null() & values.is_not_null()
        samples.append(_long(base.filter(good), column.metric, values.filter(good)))
        refused += _refused_cells(where, column.name, raw, reasons)
    no_time = base["t_ns"].is_null()
    time_name = columns.identity["time"]
    refused += _refused_cells(
        where, time_name, frame[time_name].cast(pl.String), _reason(no_time, "bad_time")
    )
    told = pl.concat(samples).to_arrow()
    for field in rows.SAMPLES:
        if field.name not in told.column_names:  # what no file tells
            told = told.append_column(field, pa.nulls(len(told), field.type))
    table = told.select(rows.SAMPLES.names).cast(rows.SAMPLES)
    return {"samples": table, "refused": pa.Table.from_pylist(refused, schema=rows.REFUSED)}


def _identity(frame: pl.DataFrame, columns: Columns, zone: str | None) -> pl.DataFrame:
    def text(meaning: str) -> pl.Series:
        name = columns.identity.get(meaning)
        if name is None:
            return pl.Series([None] * len(frame), dtype=pl.String)
        clean = frame[name].cast(pl.String).str.strip_chars()
        return pl.select(pl.when(~clean.str.to_lowercase().is_in(words()["absent"])).then(clean)).to_series()

    named, index, bus_id = text("gpu"), text("gpu_index"), text("bus_id")
    index = pl.select(pl.coalesce(index, pl.when(named.str.contains(r"^\d+$")).then(named))).to_series()
    # A card known by its number alone still needs a key of its own, else two cards of a host become one.
    by_number = pl.when(bus_id.is_null()).then("index-" + index)
    name = pl.when(~named.str.contains(r"^\d+$")).then(named)
    uuid = pl.select(pl.coalesce(text("gpu_uuid"), name, by_number)).to_series()
    return pl.DataFrame(
        {
            "tenant": pl.Series(["default"] * len(frame), dtype=pl.String),
            "host": text("host"),
            "gpu_uuid": uuid,
            "bus_id": bus_id,
            "gpu_index": index.cast(pl.Int64, strict=False),
            "gpu_name": text("gpu_name"),
            "source": pl.Series(["file"] * len(frame), dtype=pl.String),
            "pid": text("pid").cast(pl.Int64, strict=False),
            "t_ns": to_instants(frame[columns.identity["time"]], zone),
            "simulated": pl.Series([False] * len(frame), dtype=pl.Boolean),
        }
    )


def _long(base: pl.DataFrame, metric: str, values: pl.Series) -> pl.DataFrame:
    pid = pl.col("pid") if metric == "process_memory_mib" else pl.lit(None, pl.Int64)
    return base.with_columns(
        pid.alias("pid"), pl.lit(metric, pl.String).alias("metric"), values.alias("value")
    ).select(sorted([*base.columns, "metric", "value"]))


def _lost_rows(frame: pl.DataFrame, columns: Columns) -> pl.Series:
    lost = pl.Series([False] * len(frame), dtype=pl.Boolean)
    for column in columns.metrics:
        cell = frame[column.name].cast(pl.String).str.strip_chars().str.to_lowercase()
        lost = lost | cell.is_in(words()["lost"]).fill_null(value=False)
    return lost


def _numbers(cells: pl.Series, column: MetricColumn) -> tuple[pl.Series, pl.Series, pl.Series]:
    """Read a column's numbers in our unit, the reason where one is refused, and the cell as sent."""
    raw = cells.cast(pl.String).str.strip_chars()
    if column.unit:
        raw = raw.str.strip_suffix(column.unit).str.strip_chars()
    absent = raw.is_null() | raw.str.to_lowercase().is_in([*words()["absent"], *words()["lost"]])
    is_number = raw.str.contains(_NUMBER)
    number = (
        pl.select(pl.when(is_number).then(raw)).to_series().cast(pl.Float64, strict=False) * column.factor
    )
    infinite = raw.str.to_lowercase().str.contains(r"^[-+]?inf(inity)?$")
    reason = (
        pl.when(absent)
        .then(None)
        .when(infinite | number.is_infinite())
        .then(pl.lit("not_finite"))
        .when(~is_number)
        .then(pl.lit("not_a_number"))
        .when(number < 0 if column.metric not in _SIGNED else pl.lit(False))
        .then(pl.lit("negative"))
        .when(number > 1 if column.metric in _RATIOS else pl.lit(False))
        .then(pl.lit("too_large"))
    )
    reasons = pl.select(reason.cast(pl.String)).to_series()
    return pl.select(pl.when(~absent & reasons.is_null()).then(number)).to_series(), reasons, raw


def _reason(where: pl.Series, reason: str) -> pl.Series:
    return pl.select(pl.when(where).then(pl.lit(reason))).to_series()


def _refused_cells(where: str, field: str, raw: pl.Series, reasons: pl.Series) -> list[dict[str, Any]]:
    bad = reasons.is_not_null()
    pairs = zip(raw.filter(bad), reasons.filter(bad), strict=True)
    return [_refused(where, field, _shown(value, reason), reason) for value, reason in pairs]


def _shown(value: str | None, reason: str) -> str | None:
    """A number as it was sent; of any other text only its length."""
    if value is None or reason in {"negative", "too_large", "not_finite"}:
        return value
    return f"text of {len(value)} characters"


def _refused(where: str, field: str, value: str | None, reason: str) -> dict[str, Any]:
    return {
        "received_ns": None,
        "tenant": "default",
        "signal": "file",
        "source": where,
        "trace_id": None,
        "span_id": None,
        "field": field,
        "value": value,
        "reason": reason,
    }
