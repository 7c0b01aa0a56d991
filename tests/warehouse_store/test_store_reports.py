"""Reports: what they take, what they refuse, and how an answer is written."""

import csv
import io
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taximeter.clock import NS_PER_S
from taximeter.errors import BadInputError, NotFoundError
from warehouse.formats import FORMATS, write
from warehouse.parameters import parse_instant
from warehouse.reports import REPORTS, bind, find_report, read_reports, run_report
from warehouse.table_text import to_table
from warehouse.testing import Store, store

NOW_NS = 1_800_000_000 * NS_PER_S
ODD = pa.table(
    {
        "name": ['tool, "quoted"', None, "two\nlines \x1b[31mred"],
        "cost_usd": pa.array(
            [Decimal("12345678901234.000000000001"), Decimal(0), None], pa.decimal128(38, 12)
        ),
        "tokens": pa.array([9_007_199_254_740_993, None, 0], pa.int64()),
        "share_ratio": [0.25, float("nan"), float("inf")],
        "started_at": pa.array([datetime(2026, 11, 30, 8, 0, 0, 1), None, None], pa.timestamp("us")),  # noqa: DTZ001
        "trace_ids": [["a", "b"], None, []],
        "provisional": [True, False, None],
    }
)


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Store:
    with store(tmp_path_factory.mktemp("data")) as opened:
        yield opened


def report_file(folder: Path, text: str) -> Path:
    (folder / "things.sql").write_text(text)
    return folder


@pytest.mark.parametrize("name", sorted(file.stem for file in REPORTS.glob("*.sql")))
def test_every_report_tells_what_it_shows(name: str) -> None:
    """A report says its grain, its inputs and its law, and declares exactly the parameters of its SQL."""
    report = find_report(name)

    assert report.grain
    assert report.inputs
    assert report.law


@pytest.mark.parametrize("name", sorted(file.stem for file in REPORTS.glob("*.sql")))
def test_every_report_answers_an_empty_warehouse(warehouse: Store, name: str) -> None:
    """On empty data a report gives its columns and no number that nobody measured."""
    answer = warehouse.report(name)

    assert answer.column_names
    assert name == "health" or answer.num_rows == 0


@pytest.mark.parametrize("name", sorted(file.stem for file in REPORTS.glob("*.sql")))
def test_reports_leave_units_and_exact_money(warehouse: Store, name: str) -> None:
    """Instants leave as TIMESTAMP in _at, never as _ns; money as DECIMAL; no column is a HUGEINT."""
    schema = warehouse.report(name).schema
    wrong = [
        f"{field.name}: {field.type}"
        for field in schema
        if (field.name.endswith("_at") and not pa.types.is_timestamp(field.type))
        or (field.name.endswith("_usd") and not pa.types.is_decimal(field.type))
        or field.name.endswith("_ns")
        or (field.name.endswith("_tokens") and field.type != pa.int64())
    ]

    assert wrong == []


def test_parameters_are_bound_and_never_become_sql(tmp_path: Path, warehouse: Store) -> None:
    """A value is a value: quotes and SQL in it reach the database as text."""
    folder = report_file(tmp_path, "-- grain: g\n-- params: task_id\nselect $task_id as it")
    evil = "x'; drop table spans; --"
    with warehouse.connection.cursor() as cursor:
        answer = run_report(cursor, find_report("things", folder), {"task_id": evil}, NOW_NS)

    assert answer.to_pylist() == [{"it": evil}]


def test_parameters_have_defaults_and_types(tmp_path: Path) -> None:
    """A parameter keeps its default, and a given text is read as what the default or the name says."""
    header = "-- params: task_id, group_by=agent, top=10, step_s=60.0, at_ns\n"
    sql = "select $task_id, $group_by, $top, $step_s, $at_ns, $since_ns, $until_ns, $zone"
    report = find_report("things", report_file(tmp_path, header + sql))

    assert bind(report, {}, NOW_NS) == {
        "task_id": None,
        "group_by": "agent",
        "top": 10,
        "step_s": 60.0,
        "at_ns": None,
        "since_ns": 0,
        "until_ns": (1 << 63) - 1,
        "zone": "UTC",
    }
    given_values = bind(
        report,
        {
            "task_id": "12",
            "top": "3",
            "step_s": "0.5",
            "at_ns": "now",
            "since": "1h",
            "zone": "Europe/Berlin",
        },
        NOW_NS,
    )
    assert given_values == {
        "task_id": "12",
        "group_by": "agent",
        "top": 3,
        "step_s": 0.5,
        "at_ns": NOW_NS,
        "since_ns": NOW_NS - 3_600 * NS_PER_S,
        "until_ns": (1 << 63) - 1,
        "zone": "Europe/Berlin",
    }


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("top", "many"),
        ("top", "1.5"),
        ("top", str(1 << 63)),
        ("step_s", "nan"),
        ("step_s", "soon"),
        ("since", "yesterday"),
        ("since", "24 hours"),
        ("until", "2026-13-01"),
        ("zone", "Mars/Olympus"),
        ("zone", "../../etc/passwd"),
        ("colour", "red"),
        ("now_ns", "1"),
    ],
)
def test_a_value_that_cannot_be_is_refused(tmp_path: Path, name: str, value: str) -> None:
    """A wrong value or an unknown parameter is an error that names it, never a silent default."""
    sql = "-- params: top=10, step_s=60.0\nselect $top, $step_s, $since_ns"
    report = find_report("things", report_file(tmp_path, sql))

    with pytest.raises(BadInputError, match=name.removesuffix("_ns")):
        bind(report, {name: value}, NOW_NS)


def test_a_range_may_be_given_to_any_report(tmp_path: Path) -> None:
    """since, until and zone may be given to a report that has no use for them."""
    report = find_report("things", report_file(tmp_path, "select 1 as one"))

    assert bind(report, {"since": "24h", "until": "now", "zone": "UTC"}, NOW_NS) == {}


def test_a_report_may_take_the_instant_it_is_asked(tmp_path: Path, warehouse: Store) -> None:
    """A report that names now_ns gets the caller's clock, not the database's."""
    report = find_report("things", report_file(tmp_path, "select $now_ns as now_ns"))
    with warehouse.connection.cursor() as cursor:
        assert run_report(cursor, report, {}, NOW_NS).to_pylist() == [{"now_ns": NOW_NS}]


@pytest.mark.parametrize(
    "sql",
    [
        "-- params: task_id\nselect 1",
        "select $task_id",
        "select 1; select 2",
        "delete from spans",
        "-- params: task_id\ninsert into spans (trace_id) values ($task_id)",
    ],
)
def test_a_report_that_is_none_is_refused(tmp_path: Path, sql: str) -> None:
    """A report is one select whose parameters are those of its header."""
    with pytest.raises(ValueError, match=r"things\.sql"):
        read_reports(report_file(tmp_path, sql))


def test_an_unknown_report_names_those_that_are() -> None:
    """Asking for a report that is not there tells which are, and no path gets out of the folder."""
    for name in ("nope", "../schema/spans", ""):
        with pytest.raises(NotFoundError, match="health"):
            find_report(name)


@pytest.mark.parametrize(
    ("text", "expected_ns"),
    [
        ("2026-11-30T08:00:00Z", 1_796_025_600 * NS_PER_S),
        ("2026-11-30T09:00:00+01:00", 1_796_025_600 * NS_PER_S),
        ("2026-11-30T08:00", 1_796_025_600 * NS_PER_S),
        ("2026-11-30", 1_795_996_800 * NS_PER_S),
        ("2026-11-30T08:00:00.000001Z", 1_796_025_600 * NS_PER_S + 1_000),
        ("24h", NOW_NS - 86_400 * NS_PER_S),
        ("7d", NOW_NS - 604_800 * NS_PER_S),
        ("90s", NOW_NS - 90 * NS_PER_S),
        ("now", NOW_NS),
        ("1796025600000000001", 1_796_025_600 * NS_PER_S + 1),
        ("0", 0),
    ],
)
def test_instants_are_read_in_every_form(text: str, expected_ns: int) -> None:
    """ISO 8601 with or without a zone, a time ago, now, and nanoseconds name the same instants."""
    assert parse_instant("since_ns", text, NOW_NS) == expected_ns


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_nanoseconds_keep_every_digit(instant_ns: int) -> None:
    """An instant given as a number is that number."""
    assert parse_instant("since_ns", instant_ns, NOW_NS) == instant_ns


def test_json_keeps_digits_and_says_unknown() -> None:
    """JSON has money and counts with all digits, UTC instants with Z, and null for what no number is."""
    rows = json.loads(write(ODD, "json"), parse_float=Decimal)

    assert rows[0] == {
        "name": 'tool, "quoted"',
        "cost_usd": Decimal("12345678901234.000000000001"),
        "tokens": 9_007_199_254_740_993,
        "share_ratio": Decimal("0.25"),
        "started_at": "2026-11-30T08:00:00.000001Z",
        "trace_ids": ["a", "b"],
        "provisional": True,
    }
    assert rows[1]["cost_usd"] == 0
    assert [row["share_ratio"] for row in rows[1:]] == [None, None]
    assert rows[2]["cost_usd"] is None


@given(st.decimals(min_value=-(10**25), max_value=10**25, places=12))
def test_money_in_json_is_the_money_in_the_table(amount: Decimal) -> None:
    """No amount is rounded or written with an exponent."""
    table = pa.table({"cost_usd": pa.array([amount], pa.decimal128(38, 12))})
    text = write(table, "json").decode()

    assert "e" not in text.split(":")[1].lower()
    assert json.loads(text, parse_float=Decimal, parse_int=Decimal) == [{"cost_usd": amount}]


def test_csv_reads_back() -> None:
    """CSV quotes what needs it, and leaves an unknown value empty."""
    rows = list(csv.DictReader(io.StringIO(write(ODD, "csv").decode())))

    assert rows[0]["name"] == 'tool, "quoted"'
    assert rows[0]["cost_usd"] == "12345678901234.000000000001"
    assert rows[0]["started_at"] == "2026-11-30T08:00:00.000001Z"
    assert (rows[1]["tokens"], rows[2]["tokens"], rows[1]["share_ratio"]) == ("", "0", "")
    assert json.loads(rows[0]["trace_ids"]) == ["a", "b"]


def test_parquet_and_arrow_are_the_table_itself() -> None:
    """The binary formats give back the same table, types included."""
    parquet = pq.read_table(io.BytesIO(write(ODD, "parquet")))
    arrow = pa.ipc.open_stream(write(ODD, "arrow")).read_all()

    assert (parquet.schema, arrow.schema) == (ODD.schema, ODD.schema)
    assert str(parquet.to_pylist()) == str(arrow.to_pylist()) == str(ODD.to_pylist())


def test_a_table_aligns_numbers_right_and_shows_unknown_as_a_dash() -> None:
    """A terminal table lines its columns up, and what is unknown is a dash, never a zero."""
    table = pa.table(
        {"name": ["a", None], "cost_usd": pa.array([Decimal("1234.5"), None], pa.decimal128(38, 12))}
    )

    assert to_table(table).splitlines() == [
        "name   cost_usd",
        "────  ─────────",
        "a     $1,234.50",
        "–             –",
    ]


def test_a_table_cannot_steer_the_terminal() -> None:
    """Control characters of trace text never reach the terminal, and a row stays one line."""
    text = write(ODD, "table").decode()

    assert "\x1b" not in text
    assert len(text.splitlines()) == 2 + ODD.num_rows


def test_a_table_that_is_too_wide_names_what_it_left_out() -> None:
    """Columns beyond the terminal are left out and named; the first column always stays."""
    text = to_table(ODD, width=60)

    assert all(len(line) <= 60 for line in text.splitlines()[:-1])
    assert text.splitlines()[-1].startswith("5 more columns do not fit: tokens, share_ratio")
    assert to_table(ODD, width=1).startswith("name")


@pytest.mark.parametrize("name", FORMATS)
def test_no_rows_is_an_answer_in_every_format(name: str) -> None:
    """An empty report can be written in every format."""
    assert isinstance(write(ODD.slice(0, 0), name), bytes)


def test_an_unknown_format_names_those_that_are() -> None:
    """A format that is not there is an error that lists the others."""
    with pytest.raises(BadInputError, match="table, json, csv, parquet, arrow"):
        write(ODD, "xml")
