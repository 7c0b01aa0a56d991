"""Settings: one file, environment overrides, one-line errors."""

import json
from pathlib import Path

import pytest

from taximeter import settings
from taximeter.errors import SettingsError

REPOSITORY = Path(__file__).parents[2]


def write(folder: Path, text: str) -> Path:
    file = folder / "taximeter.yaml"
    file.write_text(text, encoding="utf-8")
    return file


def test_the_example_file_is_valid(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that we show to people load, with the deployment they describe."""
    monkeypatch.chdir(REPOSITORY / "examples")

    values = settings.load(Path("taximeter.yaml"))

    assert values.deployments[0].gpus is not None
    assert values.deployments[0].gpus.per_replica == 2
    assert values.deployments[0].gpus.held[0].end is None


def test_the_environment_wins_over_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable named after the setting beats the file, and the origin says which it was."""
    file = write(tmp_path, "collector: {http_port: 5000, grpc_port: 5001}\n")
    monkeypatch.setenv("TAXIMETER_COLLECTOR__HTTP_PORT", "6000")

    values = settings.load(file)
    origins = {name: (value, origin) for name, value, origin in settings.origins(values, file)}

    assert origins["collector.http_port"] == (6000, "TAXIMETER_COLLECTOR__HTTP_PORT")
    assert origins["collector.grpc_port"] == (5001, str(file))
    assert origins["collector.host"] == ("127.0.0.1", "default")


def test_a_relative_data_folder_is_next_to_the_file(tmp_path: Path) -> None:
    """`data: ./d` means beside the settings file, wherever the program was started."""
    assert settings.load(write(tmp_path, "data: ./d\n")).data == tmp_path / "d"


def test_a_relative_price_file_is_next_to_the_file(tmp_path: Path) -> None:
    """`prices.file` and `alerts.rules` are found beside the settings file too."""
    values = settings.load(write(tmp_path, "prices: {file: p.yaml}\nalerts: {rules: r.yaml}\n"))

    assert values.prices.file == tmp_path / "p.yaml"
    assert values.alerts.rules == tmp_path / "r.yaml"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("colector: {}\n", "colector"),
        ("collector: {http_port: 70000}\n", r"collector\.http_port"),
        ("deployments: [{name: a, gpus: {sku: H100, count: 0}}]\n", "count"),
        ("deployments: [{name: a, gpus: {sku: H100, count: 1, held: [{from: 2026-11-01T00:00}]}}]\n", "held"),
        (": : :\n", "not YAML"),
        ("- 1\n", "keys and values"),
    ],
)
def test_a_wrong_setting_is_one_line_that_names_it(tmp_path: Path, text: str, told: str) -> None:
    """Unknown keys, values out of range, instants without a zone and broken YAML are told by name."""
    with pytest.raises(SettingsError, match=told) as caught:
        settings.load(write(tmp_path, text))

    assert "\n" not in str(caught.value)


def test_a_missing_file_is_told(tmp_path: Path) -> None:
    """A settings file that was asked for and is not there is an error, not the defaults."""
    with pytest.raises(SettingsError, match="no file"):
        settings.load(tmp_path / "nope.yaml")


def test_the_committed_schema_is_the_settings_schema() -> None:
    """docs/taximeter.schema.json is what `taximeter schema` prints."""
    committed = json.loads((REPOSITORY / "docs" / "taximeter.schema.json").read_text(encoding="utf-8"))

    assert committed == settings.json_schema()
