"""`taximeter import` reads what a person has at hand, and times without a zone as the person says."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from taximeter.cli import app
from warehouse.testing import store

NOON_UTC = 1_796_126_400


@pytest.mark.parametrize(
    ("options", "hours_before"),
    [([], 9), (["--zone", "Europe/Berlin"], 1), (["--zone", "UTC"], 0)],
)
def test_sample_times_are_read_in_the_zone_of_the_option_else_of_the_settings(
    tmp_path: Path, options: list[str], hours_before: int
) -> None:
    """Noon in a file without zones is noon in the option's zone; without the option, in the settings'."""
    (tmp_path / "taximeter.yaml").write_text("zone: Asia/Tokyo\n")
    (tmp_path / "gpu.csv").write_text("time,gpu,util_percent\n2026-12-01 12:00:00,0,50\n")
    places = ["--config", str(tmp_path / "taximeter.yaml"), "--data", str(tmp_path / "data")]

    result = CliRunner().invoke(app, ["import", str(tmp_path / "gpu.csv"), *places, *options])

    assert result.exit_code == 0, result.output
    with store(tmp_path / "data") as warehouse:
        ((t_ns,),) = warehouse.sql("select t_ns from samples")
    assert t_ns == (NOON_UTC - hours_before * 3600) * 1_000_000_000
