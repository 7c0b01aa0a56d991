"""Rules are data: the built-in ones load, the user's win, and mistakes are told by name."""

from decimal import Decimal
from pathlib import Path

import pytest

from alerts.facts import fill, gather
from alerts.quantity import read_quantity
from alerts.rule import load_rules
from taximeter.errors import SettingsError

VALUES = {"idle_after_s": 60.0, "busy_ratio": 0.05}
MINIMAL = "{name: mine, report: tasks, condition: 'a > 1', title: t, text: x}"


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "rules.yaml"
    path.write_text(text)
    return path


def test_the_built_in_rules_load() -> None:
    """Each of ours can be read, and its $names are there."""
    names = [loaded.rule.name for loaded in load_rules(None, VALUES)]

    assert names == [
        "gpu_idle",
        "multiplier_over_budget",
        "unpriced_share",
        "coverage_lost",
        "ingest_lag",
        "check_failing",
        "kv_cache_full",
        "queue_long",
        "engine_silent",
        "scrape_down",
    ]


def test_a_users_rule_wins_and_may_switch_ours_off(tmp_path: Path) -> None:
    """Same name, other rule; disabled rules are not there; new ones come behind."""
    path = _file(
        tmp_path,
        f"""rules:
  - {{name: gpu_idle, report: gpus_now, condition: idle_s > 5min, for: 1min, title: t, text: x}}
  - {{name: check_failing, enabled: false, report: health, condition: a = 1, title: t, text: x}}
  - {MINIMAL}
""",
    )

    rules = {loaded.rule.name: loaded.rule for loaded in load_rules(path, VALUES)}

    assert rules["gpu_idle"].condition == "idle_s > 5min"
    assert rules["gpu_idle"].for_s == 60.0
    assert "check_failing" not in rules
    assert list(rules)[-1] == "mine"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("rules: [{name: x}]", "rule x: report"),
        ("rules: [5]", "rule 5"),
        (f"rules: [{MINIMAL.replace('a > 1', 'a >')}]", "condition 'a >'"),
        (f"rules: [{MINIMAL.replace('name: mine', 'name: Mine!')}]", "rule Mine!: name"),
        (f"rules: [{MINIMAL.replace('title: t', 'title: t, colour: red')}]", "colour"),
        (f"rules: [{MINIMAL.replace('title: t', 'title: t, for: soon')}]", "'soon' is no quantity"),
        ("rules: 3", "must hold a list"),
        ("- a", "must hold a list"),
        ("rules: [", "not YAML"),
    ],
)
def test_a_mistake_names_the_rule_and_the_place(tmp_path: Path, text: str, reason: str) -> None:
    """Nobody searches a file for what is wrong with it."""
    with pytest.raises(SettingsError, match=reason.replace("!", "!")):
        load_rules(_file(tmp_path, text), VALUES)


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    """A mistyped path is an error, not an empty list of rules."""
    with pytest.raises(SettingsError, match="cannot be read"):
        load_rules(tmp_path / "none.yaml", VALUES)


@pytest.mark.parametrize(
    ("text", "number"),
    [("60s", 60), ("1.5 min", 90), ("2h", 7200), ("1d", 86400), ("250ms", 0.25), ("5%", 0.05), ("-3", -3)],
)
def test_quantities_carry_their_unit(text: str, number: float) -> None:
    """Times are seconds, percentages are ratios."""
    assert read_quantity(text) == pytest.approx(number, rel=1e-12)


def test_figures_are_shown_in_their_units_and_unknown_as_a_dash() -> None:
    """A template never shows a zero for what nobody knows, nor breaks on a name nobody knows."""
    rows = [
        {
            "a_s": 90.0,
            "share_ratio": 0.5,
            "cost_usd": Decimal("1.5"),
            "gone": None,
            "name": "x",
            "n_tokens": 1234,
        },
        {"a_s": 30.0, "share_ratio": 0.25, "cost_usd": None, "gone": None, "name": "y", "n_tokens": 5},
    ]
    facts = gather(rows, {"deployment": None})

    template = (
        "{count} row{s} {a_s} {share_ratio} {cost_usd} {total_cost_usd} {gone} {name} {n_tokens} {nobody}"
    )
    assert fill(template, facts) == (
        "2 rows 1.5 min 50.0 % $1.50 at least $1.50 (price unknown for 1 of 2) – x, y 1,234 –"
    )
    assert fill("{deployment}", facts) == "no deployment"


def test_values_of_the_data_are_never_templates() -> None:
    """A name with braces is shown as it is."""
    assert fill("{name}", gather([{"name": "{count} {x}"}], {})) == "{count} {x}"
