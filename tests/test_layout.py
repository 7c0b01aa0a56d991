"""The house rules that a machine can check."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
PACKAGES = ("alerts", "collector", "dashboard", "planner", "taximeter", "warehouse")
LINES_AT_MOST = 400


def tracked(*patterns: str) -> list[Path]:
    """List the files of the repository, whether a git checkout or an unpacked archive."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--cached", "--others", "--exclude-standard", *patterns],
            cwd=REPOSITORY,
            capture_output=True,
            text=True,
            check=True,
        ).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [REPOSITORY / name for name in listed if name and (REPOSITORY / name).is_file()]


def test_no_file_is_longer_than_400_lines() -> None:
    """A file holds one idea."""
    long = {
        str(path.relative_to(REPOSITORY)): lines
        for path in tracked("*.py", "*.sql", "*.c", "*.toml", "*.yaml")
        if path.name != "uv.lock"
        and (lines := len(path.read_text(encoding="utf-8").splitlines())) > LINES_AT_MOST
    }

    assert long == {}


def test_tests_have_no_init_files() -> None:
    """A package below tests/ would take the import name of the real one."""
    assert list((REPOSITORY / "tests").rglob("__init__.py")) == []


def test_every_test_says_its_rule() -> None:
    """Each test function has a docstring."""
    silent = [
        f"{path.name}::{node.name}"
        for path in tracked("tests/**/test_*.py", "tests/test_*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        if node.name.startswith("test_") and not ast.get_docstring(node)
    ]

    assert silent == []


def test_nothing_is_left_for_later_in_the_code() -> None:
    """No mark of unfinished work, and no path of a machine, in what is shipped."""
    marks = re.compile(r"\b(TODO|FIXME|XXX|NotImplementedError)\b|/(work|root|farm)/\w")
    found = [
        f"{path.relative_to(REPOSITORY)}:{number}"
        for path in tracked("*.py", "*.sql", "*.toml", "*.yaml", "*.md", "Makefile")
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if marks.search(line)
    ]

    assert found == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_says_what_it_owns_takes_and_hands_on(package: str) -> None:
    """The first file of each folder tells its place in the house in three sentences."""
    text = ast.get_docstring(ast.parse((REPOSITORY / package / "__init__.py").read_text(encoding="utf-8")))

    assert text is not None
    assert len(text.splitlines()) >= 3


def test_every_program_of_the_command_line_exists() -> None:
    """Names of programs lead to modules that are there."""
    from taximeter import programs

    missing = [
        program.module
        for program in programs.PROGRAMS
        if not (REPOSITORY / (program.module.replace(".", "/") + ".py")).exists()
    ]

    assert missing == []


def test_no_dashboard_file_hides_a_package() -> None:
    """Streamlit puts dashboard/ first on the path, so a file there must not be named like a package."""
    names = {path.stem for path in (REPOSITORY / "dashboard").iterdir()}

    assert names.isdisjoint({*PACKAGES, "streamlit", "plotly", "duckdb", "polars", "pyarrow"})
