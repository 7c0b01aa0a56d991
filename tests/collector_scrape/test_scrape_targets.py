"""Whom the scraper asks: the settings' targets and lists that other programs keep."""

import json
from pathlib import Path

import pytest

from collector.scrape.targets import Target, of_settings, read_list
from taximeter.errors import BadInputError


def test_settings_name_address_rhythm_labels_and_deployment() -> None:
    """Everything but the address may be left out."""
    assert of_settings([{"url": "http://a:9400/metrics"}]) == [Target("http://a:9400/metrics")]
    (target,) = of_settings(
        [{"url": "https://b/metrics", "every_s": 30, "labels": {"z": 1}, "deployment": "d", "token_env": "T"}]
    )
    assert target == Target("https://b/metrics", 30.0, (("z", "1"),), "d", "T")
    assert target.instance == "b:443"


def test_a_list_of_prometheus_is_read_as_it_is(tmp_path: Path) -> None:
    """Scheme and path come from its labels, other labels with two underscores are dropped."""
    file = tmp_path / "targets.json"
    labels = {
        "__metrics_path__": "/m",
        "__scheme__": "https",
        "__meta_x": "1",
        "rack": "2",
        "deployment": "d",
    }
    file.write_text(json.dumps([{"targets": ["h1:1", "h2:2"], "labels": labels}, {"targets": ["h3:3"]}]))
    assert read_list(file) == [
        Target("https://h1:1/m", labels=(("rack", "2"),), deployment="d"),
        Target("https://h2:2/m", labels=(("rack", "2"),), deployment="d"),
        Target("http://h3:3/metrics"),
    ]


def test_a_list_of_ours_may_be_yaml(tmp_path: Path) -> None:
    """The settings' own form stands in a file of its own, too."""
    file = tmp_path / "targets.yaml"
    file.write_text("- {url: 'http://127.0.0.1:8000/metrics', every_s: 2}\n")
    assert read_list(file) == [Target("http://127.0.0.1:8000/metrics", 2.0)]


@pytest.mark.parametrize(
    "said",
    [
        {"url": "ftp://a/metrics"},
        {"url": "a:9400"},
        {"url": ""},
        {"url": "http://user:secret@a/metrics"},
        {"url": "http://a/m", "every_s": 0},
        {"url": "http://a/m", "every_s": "soon"},
        {"url": "http://a/m", "evry_s": 1},
    ],
)
def test_what_cannot_be_asked_is_refused(said: dict[str, object]) -> None:
    """No address, a password in it, no rhythm or a misspelt key is an error that shows no password."""
    with pytest.raises(BadInputError) as error:
        of_settings([said])
    assert "secret" not in str(error.value)


@pytest.mark.parametrize("text", ["{}", "3", "- 1", ": :", "- targets: [a]\n  labels: {__scheme__: gopher}"])
def test_a_file_that_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    """A list that cannot be read says so."""
    file = tmp_path / "list.yaml"
    file.write_text(text)
    with pytest.raises(BadInputError):
        read_list(file)


def test_a_loopback_target_runs_on_this_machine() -> None:
    """Elsewhere the address names the machine, here it is the machine's own name."""
    assert Target("http://127.0.0.1:8000/metrics").host("node-1") == "node-1"
    assert Target("http://10.0.0.7:8000/metrics").host("node-1") == "10.0.0.7"
