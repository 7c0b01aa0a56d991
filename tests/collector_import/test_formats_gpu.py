"""GPU samples from CSV and Parquet: figures in our units, absent is absent, the impossible is refused."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from collector.formats.detect import detect
from collector.formats.gpu_time import to_instants
from collector.formats.source import open_plain
from taximeter.clock import to_ns
from taximeter.errors import BadInputError
from warehouse import rows

NOON = to_ns(datetime(2026, 12, 1, 12, tzinfo=UTC))


def _rows(path: Path, zone: str | None = None) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    reading = detect(path, zone, path.name)
    assert reading is not None
    samples, refused = [], []
    with open_plain(path) as file:
        for tables in reading.read(file):
            assert isinstance(tables, dict)
            assert tables["samples"].schema == rows.SAMPLES
            assert tables["refused"].schema == rows.REFUSED
            samples += tables["samples"].to_pylist()
            refused += tables["refused"].to_pylist()
    return samples, refused


def _csv(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "samples.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def _figures(samples: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(row["gpu_uuid"], row["t_ns"], row["metric"], row["value"]) for row in samples]


def test_plain_columns_become_samples(tmp_path: Path) -> None:
    """A percentage becomes a ratio, every figure one row, and what the file does not say stays null."""
    path = _csv(
        tmp_path,
        "time,gpu_uuid,host,util_percent,memory_used_mib,power_w",
        "1764590400,GPU-a,box,25,1024,70.5",
    )

    samples, refused = _rows(path)

    assert refused == []
    at = 1_764_590_400_000_000_000
    assert _figures(samples) == [
        ("GPU-a", at, "util_ratio", 0.25),
        ("GPU-a", at, "memory_used_mib", 1024.0),
        ("GPU-a", at, "power_w", 70.5),
    ]
    first = samples[0]
    assert (first["host"], first["source"], first["bus_id"], first["pid"]) == ("box", "file", None, None)
    assert (first["tenant"], first["simulated"]) == ("default", False)


def test_nvidia_smi_query_output_is_read_as_it_is(tmp_path: Path) -> None:
    """The query mode's own headings, units behind the numbers and N/A cells need no preparation."""
    path = _csv(
        tmp_path,
        "timestamp, index, uuid, pci.bus_id, name, utilization.gpu [%], memory.used [MiB], power.draw [W]",
        "2026/12/01 13:00:00.250, 0, GPU-a, 00000000:21:00.0, NVIDIA L40S, 97 %, 10240 MiB, 301.50 W",
        "2026/12/01 13:00:00.250, 1, GPU-b, 00000000:41:00.0, NVIDIA L40S, [N/A], 0 MiB, [Not Supported]",
    )

    samples, refused = _rows(path, "Europe/Berlin")

    assert refused == []
    at = NOON + 250_000_000
    assert _figures(samples) == [
        ("GPU-a", at, "util_ratio", 0.97),
        ("GPU-a", at, "memory_used_mib", 10240.0),
        ("GPU-b", at, "memory_used_mib", 0.0),
        ("GPU-a", at, "power_w", 301.5),
    ]
    assert (samples[0]["gpu_index"], samples[0]["gpu_name"]) == (0, "NVIDIA L40S")
    assert samples[0]["bus_id"] == "00000000:21:00.0"


def test_a_time_without_a_zone_is_refused_unless_a_zone_is_named(tmp_path: Path) -> None:
    """Nobody guesses which instant a local time was; one that daylight saving makes twice is refused too."""
    path = _csv(tmp_path, "time,gpu,util_ratio", "2026-10-25 02:30:00,0,0.5", "2026-10-25 04:30:00,0,0.5")

    without = _rows(path)
    berlin = _rows(path, "Europe/Berlin")

    assert without[0] == []
    assert [row["reason"] for row in without[1]] == ["bad_time", "bad_time"]
    assert [row["t_ns"] for row in berlin[0]] == [to_ns(datetime(2026, 10, 25, 3, 30, tzinfo=UTC))]
    assert [(row["field"], row["reason"]) for row in berlin[1]] == [("time", "bad_time")]


@pytest.mark.parametrize(
    ("text", "offset_ns"),
    [
        ("2026-12-01T12:00:00Z", 0),
        ("2026-12-01T12:00:00.000000001Z", 1),
        ("2026-12-01 13:00:00.5+01:00", 500_000_000),
        ("2026-12-01T06:30:00-0530", 0),
        ("1796126400", 0),
        ("1796126400.123456789", 123_456_789),
        ("1796126400123", 123_000_000),
        ("1796126400123456", 123_456_000),
        ("1796126400123456789", 123_456_789),
    ],
)
def test_instants_are_exact_to_the_digit_given(tmp_path: Path, text: str, offset_ns: int) -> None:
    """ISO times with a zone and epoch numbers of any unit lose no digit."""
    samples, _ = _rows(_csv(tmp_path, "time,gpu,util_ratio", f"{text},0,1"))

    assert [row["t_ns"] - NOON for row in samples] == [offset_ns]


@settings(max_examples=60, deadline=None)
@given(
    instant_ns=st.integers(NOON - 10**18 // 2, NOON + 10**18),
    offset_minutes=st.integers(-14 * 60, 14 * 60),
)
def test_any_instant_survives_being_written(instant_ns: int, offset_minutes: int) -> None:
    """Written as ISO text in any offset, an instant is read back as itself."""
    shift = timedelta(minutes=offset_minutes)
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=instant_ns // 10**9) + shift
    sign, minutes = ("-" if offset_minutes < 0 else "+"), abs(offset_minutes)
    zone = f"{sign}{minutes // 60:02}:{minutes % 60:02}"
    text = f"{local:%Y-%m-%dT%H:%M:%S}.{instant_ns % 10**9:09}{zone}"

    assert to_instants(pl.Series([text]), None).to_list() == [instant_ns]


def test_the_impossible_is_refused_with_its_reason(tmp_path: Path) -> None:
    """Negative, more than all, infinite and wordy figures never become samples; each says why."""
    path = _csv(
        tmp_path,
        "time,gpu,util_percent,power_w",
        "1764590400,0,-1,10",
        "1764590401,0,101,10",
        "1764590402,0,inf,10",
        "1764590403,0,idle,10",
        "1764590404,0,,nan",
        "12,0,5,10",
        "1764590405,0,5",
    )

    samples, refused = _rows(path)

    assert {row["metric"] for row in samples} == {"power_w"}
    assert len(samples) == 4
    assert sorted((row["field"], row["reason"], row["value"]) for row in refused) == [
        ("row", "undecodable", "3 cells"),
        ("time", "bad_time", "text of 2 characters"),
        ("util_percent", "negative", "-1"),
        ("util_percent", "not_a_number", "text of 4 characters"),
        ("util_percent", "not_finite", "inf"),
        ("util_percent", "too_large", "101"),
    ]


def test_two_cards_known_by_number_stay_two_cards(tmp_path: Path) -> None:
    """Where a file has no uuid, the card's number becomes its key, so that cards never merge."""
    samples, _ = _rows(
        _csv(tmp_path, "time,gpu,util_ratio", "1764590400,0,0.5", "1764590400,1,0.5", "1764590400,GPU-x,0.5")
    )

    keys = [(row["gpu_uuid"], row["gpu_index"]) for row in samples]
    assert keys == [("index-0", 0), ("index-1", 1), ("GPU-x", None)]


def test_a_lost_card_is_down_and_has_no_figures(tmp_path: Path) -> None:
    """A driver that says the GPU is lost makes `up` 0 and invents no utilization."""
    samples, refused = _rows(
        _csv(
            tmp_path,
            "timestamp,uuid,utilization.gpu [%],power.draw [W]",
            "1764590400,GPU-a,[GPU is lost],[GPU is lost]",
        )
    )

    assert [(row["metric"], row["value"]) for row in samples] == [("up", 0.0)]
    assert refused == []


def test_parquet_says_the_same_as_csv(tmp_path: Path) -> None:
    """Typed columns and text columns of the same figures give the same samples."""
    instant = datetime(2026, 12, 1, 12, tzinfo=UTC)
    table = pa.table(
        {
            "time": pa.array([instant, instant], pa.timestamp("ms", tz="UTC")),
            "gpu_uuid": ["GPU-a", "GPU-b"],
            "util_percent": pa.array([50, None], pa.int64()),
            "memory_used_bytes": pa.array([2**30, 0], pa.int64()),
        }
    )
    path = tmp_path / "samples.bin"
    parquet.write_table(table, path)
    text = _csv(
        tmp_path,
        "time;gpu_uuid;util_percent;memory_used_bytes",
        "2026-12-01T12:00:00Z;GPU-a;50;1073741824",
        "2026-12-01T12:00:00Z;GPU-b;;0",
    )

    assert _rows(path) == _rows(text)
    assert _figures(_rows(path)[0]) == [
        ("GPU-a", NOON, "util_ratio", 0.5),
        ("GPU-a", NOON, "memory_used_mib", 1024.0),
        ("GPU-b", NOON, "memory_used_mib", 0.0),
    ]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_parquet_timestamps_of_every_unit_name_the_same_instant(tmp_path: Path, unit: str) -> None:
    """A zoned timestamp needs no zone from the user; one without is refused like its text."""
    zoned = pa.array([datetime(2026, 12, 1, 12, tzinfo=UTC)], pa.timestamp(unit, tz="America/New_York"))
    naive = pa.array([datetime(2026, 12, 1, 12)], pa.timestamp(unit))  # noqa: DTZ001
    found = []
    for times in (zoned, naive):
        path = tmp_path / "samples.parquet"
        parquet.write_table(pa.table({"time": times, "gpu": ["a"], "util_ratio": [1.0]}), path)
        found.append([row["t_ns"] for row in _rows(path)[0]])

    assert found == [[NOON], []]


def test_tables_about_other_things_are_not_samples(tmp_path: Path) -> None:
    """Without a time, a GPU and a figure a table is something else."""
    path = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"time": [1], "price": [2.0]}), path)

    assert detect(path, None, "other") is None
    assert detect(_csv(tmp_path, "time,gpu,comment", "1,0,x"), None, "other") is None
    assert detect(_csv(tmp_path, "name,util_percent", "x,1"), None, "other") is None


def test_a_cut_parquet_file_is_broken(tmp_path: Path) -> None:
    """A damaged page is an error of the file, not a crash of the program."""
    path = tmp_path / "samples.parquet"
    table = pa.table({"time": [1796126400] * 5000, "gpu": ["a"] * 5000, "util_ratio": [0.123] * 5000})
    parquet.write_table(table, path, compression="none", use_dictionary=False)
    reading = detect(path, None, "samples")
    data = bytearray(path.read_bytes())
    data[4:40] = b"\xff" * 36

    assert reading is not None
    with pytest.raises(BadInputError):
        list(reading.read(io.BytesIO(bytes(data))))
