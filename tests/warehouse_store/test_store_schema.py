"""The tables: what their files may say."""

import re
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from taximeter.errors import BusyError, NotFoundError, TaximeterError
from taximeter.layout import DataFolder
from warehouse import migrate
from warehouse.inbox import BLOCK_COLUMNS
from warehouse.models import MODELS
from warehouse.owner import open_for_reading, open_for_writing
from warehouse.queries import FOLDER
from warehouse.rows import SCHEMAS
from warehouse.testing import Store, store

DUCKDB_TYPES = {
    pa.string(): "VARCHAR",
    pa.int64(): "BIGINT",
    pa.int32(): "INTEGER",
    pa.float64(): "DOUBLE",
    pa.bool_(): "BOOLEAN",
    pa.list_(pa.string()): "VARCHAR[]",
    pa.list_(pa.int64()): "BIGINT[]",
    pa.decimal128(38, 12): "DECIMAL(38,12)",
}


@pytest.fixture(name="warehouse", scope="module")
def _warehouse(tmp_path_factory: pytest.TempPathFactory) -> Store:
    with store(tmp_path_factory.mktemp("data")) as opened:
        yield opened


@pytest.mark.parametrize("kind", SCHEMAS)
def test_a_loaded_table_is_its_arrow_schema_and_the_block(warehouse: Store, kind: str) -> None:
    """A loaded table has the columns of warehouse.rows in their order, then the block that brought them."""
    columns = warehouse.sql(
        "select table_name, column_name, data_type from duckdb_columns() order by table_name, column_index"
    )

    assert [(name, kind_of) for table, name, kind_of in columns if table == kind] == [
        (field.name, DUCKDB_TYPES[field.type]) for field in [*SCHEMAS[kind], *BLOCK_COLUMNS]
    ]


def test_every_schema_file_makes_the_table_it_is_named_for(warehouse: Store) -> None:
    """The tables of a new file are the files of sql/schema, by name."""
    tables = {name for (name,) in warehouse.sql("select table_name from duckdb_tables()")}

    assert tables == {file.stem for file in (FOLDER / "schema").glob("*.sql")}


def test_stored_money_is_decimal(warehouse: Store) -> None:
    """No stored _usd column is DOUBLE or HUGEINT: sums of money must be exact, in Parquet and lakes too."""
    columns = warehouse.sql(
        "select table_name, column_name, data_type from duckdb_columns()"
        " where column_name like '%usd%' and not internal"
    )

    assert columns
    assert [column for column in columns if not column[2].startswith("DECIMAL")] == []


def test_no_table_has_what_a_lake_has_not(warehouse: Store) -> None:
    """No table has a primary key, unique constraint, index, sequence, enum or HUGEINT: lakes have none."""
    constraints = warehouse.sql(
        "select table_name, constraint_type from duckdb_constraints() where constraint_type != 'NOT NULL'"
    )
    others = warehouse.sql(
        "select index_name from duckdb_indexes() union all select sequence_name from duckdb_sequences()"
        " union all select table_name || '.' || column_name from duckdb_columns()"
        " where not internal and (data_type like 'ENUM%' or data_type in ('HUGEINT', 'UHUGEINT'))"
    )

    assert (constraints, others) == ([], [])


def test_every_model_follows_what_it_reads() -> None:
    """A model reads no table that a later one makes, unless it looks at the refresh before."""
    later_than = {
        model.name: {after.name for after in MODELS[place + 1 :]} for place, model in enumerate(MODELS)
    }
    read_early = [
        (model.name, table)
        for model in MODELS
        for table in _tables_of(model.name) & later_than[model.name]
        if not LOOKS_BACK.fullmatch(model.name) and (model.name, table) not in READS_UNTOUCHED
    ]

    assert read_early == []


# These find what a changed row reaches in its old place too.
LOOKS_BACK = re.compile(r"touched_\w+|dirty_\w+|\w+_before")
# A session's other tasks, untouched by this refresh: their rows of the one before still stand.
READS_UNTOUCHED = {("step_resent", "steps"), ("step_resent", "task_tokens")}


def test_every_model_has_a_file_and_every_file_a_model() -> None:
    """The files of sql/marts are the models, by name; a table that a model fills is in sql/schema."""
    names = [model.name for model in MODELS]
    stored = {model.name for model in MODELS if model.scope != "temp"}

    assert sorted(names) == sorted(file.stem for file in (FOLDER / "marts").glob("*.sql"))
    assert stored <= {file.stem for file in (FOLDER / "schema").glob("*.sql")}


@pytest.mark.parametrize(
    "file", sorted(FOLDER.rglob("*.sql")), ids=lambda file: str(file.relative_to(FOLDER).with_suffix(""))
)
def test_a_statement_is_one_and_says_its_grain(file: Path) -> None:
    """Every SQL file holds one statement and starts by telling what one row of it is."""
    text = file.read_text(encoding="utf-8")
    first = text.splitlines()[0]

    assert len(duckdb.extract_statements(text.replace("{kind}", "spans").replace("{table}", "spans"))) == 1
    assert first.startswith(
        ("-- One row", "-- At most one row") if file.parent.name == "schema" else "-- grain: "
    )


def test_a_new_file_has_the_newest_version(tmp_path: Path) -> None:
    """A new database gets today's tables and the number of the last migration, without running it."""
    sql = _schema(tmp_path, **{"0002_more": "alter table things add column more integer"})
    with open_for_writing(DataFolder(tmp_path).make(), "1GB") as connection:
        migrate.migrate(connection, sql)

        assert migrate.version(connection) == 2
        assert connection.execute(
            "select column_name from duckdb_columns() where table_name = 'things'"
        ).fetchall() == [("name",)]


def test_an_older_file_is_brought_up_step_by_step(tmp_path: Path) -> None:
    """An older database runs the migrations after its version, in order, and keeps its rows."""
    sql = _schema(tmp_path)
    with open_for_writing(DataFolder(tmp_path).make(), "1GB") as connection:
        migrate.migrate(connection, sql)
        connection.execute("insert into things values ('kept')")
        _schema(
            tmp_path,
            **{
                "0003_fill": "update things set more = 7",
                "0002_more": "alter table things add column more integer",
            },
        )
        migrate.migrate(connection, sql)
        migrate.migrate(connection, sql)

        assert connection.execute("from things").fetchall() == [("kept", 7)]
        assert migrate.version(connection) == 3


def test_a_file_gets_the_tables_and_columns_that_were_added_since(tmp_path: Path) -> None:
    """What today's tables have more than those of an older file of the same version is there, empty."""
    sql = _schema(tmp_path)
    with open_for_writing(DataFolder(tmp_path).make(), "1GB") as connection:
        migrate.migrate(connection, sql)
        connection.execute("insert into things values ('kept')")
        (sql / "schema" / "things.sql").write_text("create table things (name varchar, more bigint[])")
        (sql / "schema" / "others.sql").write_text("create table others (name varchar)")
        migrate.migrate(connection, sql)

        assert connection.execute("from things").fetchall() == [("kept", None)]
        assert connection.execute("from others").fetchall() == []
        assert connection.execute("from duckdb_schemas() where schema_name = 'wanted'").fetchall() == []


def test_a_failed_migration_changes_nothing(tmp_path: Path) -> None:
    """A migration that fails leaves the tables and the version as they were."""
    sql = _schema(tmp_path)
    with open_for_writing(DataFolder(tmp_path).make(), "1GB") as connection:
        migrate.migrate(connection, sql)
        _schema(
            tmp_path,
            **{"0002_more": "alter table things add column more integer", "0003_bad": "drop table missing"},
        )
        with pytest.raises(duckdb.Error, match="missing"):
            migrate.migrate(connection, sql)

        assert migrate.version(connection) == 1
        assert connection.execute("select * from things").description[0][0] == "name"
        assert len(connection.execute("select * from things").description) == 1


def test_a_newer_file_is_refused(tmp_path: Path) -> None:
    """A database of a newer release is refused with both version numbers, and not touched."""
    with store(tmp_path) as warehouse:
        warehouse.connection.execute("update schema_version set version = 99")
    with pytest.raises(TaximeterError, match="schema version 99, this release knows"), store(tmp_path):
        pass


def test_the_database_reads_no_other_file(warehouse: Store, tmp_path: Path) -> None:
    """External access is off and cannot be turned on: no report can read or write a file."""
    secret = tmp_path / "secret.csv"
    secret.write_text("secret\n1\n")
    for statement in (
        f"from read_csv('{secret}')",
        f"copy spans to '{secret}'",
        f"attach '{tmp_path}/other.duckdb'",
        "set enable_external_access = true",
        "set memory_limit = '100GB'",
        "install httpfs",
    ):
        with pytest.raises(duckdb.Error):
            warehouse.sql(statement)


def test_a_file_held_by_another_process_says_by_whom(tmp_path: Path) -> None:
    """A second opener is told which process holds the file and where it answers."""
    folder = DataFolder(tmp_path).make()
    with open_for_writing(folder, "1GB"):
        folder.server.write_text('{"url": "http://127.0.0.1:8080", "pid": 4711}')
        told = _open_elsewhere(folder)

    assert (
        told == f"BusyError: {folder.database} is held by process 4711; it answers at http://127.0.0.1:8080"
    )


def test_reading_needs_a_database(tmp_path: Path) -> None:
    """Opening for reading makes no file: a folder without a database is told so."""
    with pytest.raises(NotFoundError, match="no warehouse in"):
        open_for_reading(DataFolder(tmp_path), "1GB")

    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_told_in_one_line(tmp_path: Path) -> None:
    """Garbage where the database should be is an error for the user, not a crash."""
    folder = DataFolder(tmp_path).make()
    folder.database.write_bytes(b"garbage" * 1_000)
    with pytest.raises(TaximeterError, match="cannot be opened") as caught:
        open_for_writing(folder, "1GB")

    assert not isinstance(caught.value, BusyError)
    assert "\n" not in str(caught.value)


def _tables_of(model: str) -> set[str]:
    text = (FOLDER / "marts" / f"{model}.sql").read_text()
    statement = "\n".join(line.partition("--")[0] for line in text.splitlines())
    return set(re.findall(r"\b(?:from|join)\s+(\w+)", statement))


def _schema(folder: Path, **migrations: str) -> Path:
    sql = folder / "sql"
    (sql / "schema").mkdir(parents=True, exist_ok=True)
    (sql / "migrations").mkdir(exist_ok=True)
    (sql / "schema" / "things.sql").write_text("create table things (name varchar)")
    (sql / "schema" / "schema_version.sql").write_text(
        "create table schema_version (version integer not null)"
    )
    for name, text in migrations.items():
        (sql / "migrations" / f"{name}.sql").write_text(text)
    return sql


def _open_elsewhere(folder: DataFolder) -> str:
    import subprocess
    import sys

    code = (
        "import pathlib, sys\n"
        "from taximeter.layout import DataFolder\n"
        "from warehouse.owner import open_for_reading\n"
        "try:\n    open_for_reading(DataFolder(pathlib.Path(sys.argv[1])), '1GB')\n"
        "except Exception as error:\n    print(f'{type(error).__name__}: {error}')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder.root)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
