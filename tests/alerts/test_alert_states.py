"""The state machine, played over series: what fires when, what resolves when, and what never does."""

from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from alerts.look import observe
from alerts.rule import LoadedRule, Rule, load_rule
from alerts.states import Group, Observation, State, step
from alerts.testing import START_NS, Told, play, read_series
from taximeter.clock import NS_PER_S, to_datetime


def _rule(**changes: Any) -> LoadedRule:
    values = {
        "name": "idle",
        "report": "gpus_now",
        "condition": "idle_s >= 60",
        "fresh": {"column": "last_sample_at", "within": "120s"},
        "group_by": ["deployment"],
        "member": "gpu_id",
        "title": "t",
        "text": "x",
        **changes,
    }
    return load_rule(Rule.model_validate(values), {})


def _kinds(told: list[Told]) -> list[tuple[float, str]]:
    return [(event.at_s, event.kind) for event in told]


def _play(loaded: LoadedRule, *series: str, interval_s: float = 30.0) -> list[tuple[float, str]]:
    named = {f"gpu-{number}": text for number, text in enumerate(series)}
    return _kinds(play(loaded, "idle_s", named, interval_s=interval_s, constant={"deployment": "qwen"}))


def test_series_are_written_as_they_are_read() -> None:
    """The notation repeats, counts up, and tells old, absent and missing apart."""
    assert read_series("0 5x2 10+5x2 stale null _") == [
        0.0, 5.0, 5.0, 5.0, 10.0, 15.0, 20.0, "stale", None, "missing",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "series", "expected"),
    [
        ({}, ["0 30 60 90 0"], [(60, "firing"), (120, "resolved")]),
        ({}, ["0 30 0 30 0"], []),
        ({"for": "60s"}, ["60x1 0 60x1 0"], []),
        ({"for": "60s"}, ["60x3 0"], [(60, "firing"), (120, "resolved")]),
        ({"for": "60s"}, ["60 stale 60x1 0"], []),
        ({"for": "60s"}, ["60 stale 60x2 0"], [(120, "firing"), (150, "resolved")]),
        ({"keep_firing_for": "60s"}, ["60 0 60 0x3"], [(0, "firing"), (120, "resolved")]),
        (
            {"repeat_every": "90s"},
            ["60x6 0"],
            [(0, "firing"), (90, "repeated"), (180, "repeated"), (210, "resolved")],
        ),
        ({}, ["60", "0 60 60 0"], [(0, "firing"), (90, "resolved")]),
        (
            {"update_every": "60s"},
            ["60x3 0", "0 60x2 0"],
            [(0, "firing"), (60, "changed"), (120, "resolved")],
        ),
        ({}, ["60 0", "0 60"], [(0, "firing")]),
    ],
)
def test_alerts_follow_their_series(
    changes: dict[str, Any], series: list[str], expected: list[tuple[float, str]]
) -> None:
    """Each series of idle seconds, looked at every 30 s, tells exactly these things."""
    assert _play(_rule(**changes), *series) == expected


def test_no_answer_and_old_rows_hold_a_firing_alert() -> None:
    """While nobody can look, or all that is seen is old, nothing resolves and nothing fires."""
    assert _play(_rule(), "60 _ _ _ stale stale 60 0") == [(0, "firing"), (210, "resolved")]
    assert _play(_rule(), "0 stale _ stale") == []


def test_an_absent_value_is_not_a_zero() -> None:
    """A utilization that cannot be read (N/A) neither fires nor resolves."""
    assert _play(_rule(), "null null") == []
    assert _play(_rule(), "60 null null 60 0") == [(0, "firing"), (120, "resolved")]


def test_a_row_that_left_a_healthy_report_is_over() -> None:
    """A card that is gone while others still answer is no longer idle; alone it might only be unseen."""
    rule = _rule(group_by=["gpu_id"])

    told = play(rule, "idle_s", {"a": "60x1 _", "b": "0x2"}, constant={"deployment": "qwen"})

    assert [(event.at_s, event.kind) for event in told] == [(0, "firing"), (60, "resolved")]
    assert _play(_rule(group_by=["gpu_id"]), "60x1 _ _") == [(0, "firing")]


def test_what_stays_unknown_ends_and_says_so() -> None:
    """Where the source is healthy but one card is not seen for long, its alert ends as unknown."""
    rule = _rule(group_by=["gpu_id"], hold_at_most="60s")
    series = {"a": "60 stale stale stale", "b": "0x3"}
    states: dict[Any, State] = {}
    told = play(rule, "idle_s", series, constant={"deployment": "qwen"})
    assert [(event.at_s, event.kind) for event in told] == [(0, "firing"), (60, "resolved")]

    seen = Observation({(): Group(bad=frozenset("a"))}, is_healthy=True)
    unseen = Observation({(): Group(untold=frozenset("a"))}, is_healthy=True)
    states, _ = step(rule.rule, seen, {}, START_NS)
    _, events = step(rule.rule, unseen, states, START_NS + 60 * NS_PER_S)
    assert [event.reason for event in events] == ["no data: it is unknown whether it still holds"]


def test_an_alert_ends_when_its_own_cards_are_seen_at_work() -> None:
    """A short rest of another card neither fires nor keeps the alert; a restarted count is no work."""
    rule = _rule(condition="idle_s >= 60", resolved_if="util >= 0.05")
    group, told, states = (("deployment", "qwen"),), [], {}
    looks: list[dict[str, tuple[float | None, float | None]]] = [
        {"a": (60.0, 0.0), "b": (None, 0.9)},  # a is idle
        {"a": (0.0, 0.0), "b": (None, 0.9)},  # a's count began again after a gap: not seen at work
        {"a": (None, None), "b": (30.0, 0.0)},  # a cannot be read, b rests for a moment
        {"a": (None, 0.8), "b": (40.0, 0.0)},  # a works
    ]
    for number, look in enumerate(looks):
        now_ns = START_NS + number * 30 * NS_PER_S
        rows = [
            {
                "gpu_id": name,
                "deployment": "qwen",
                "idle_s": idle_s,
                "util": util,
                "last_sample_at": to_datetime(now_ns),
            }
            for name, (idle_s, util) in look.items()
        ]
        observation = observe(rule, pa.Table.from_pylist(rows), now_ns)
        states, events = step(rule.rule, observation, states, now_ns)
        told += [(number, event.kind, event.labels) for event in events]

    assert told == [(0, "firing", group), (3, "resolved", group)]


def test_deployments_do_not_disturb_each_other() -> None:
    """Every deployment has its own alert."""
    rule = _rule(group_by=["gpu_id"])

    told = play(rule, "idle_s", {"a": "60x3 0", "b": "0 60 0x2"}, constant={"deployment": "qwen"})

    assert told == [
        Told(0, "firing", (("gpu_id", "a"),)),
        Told(30, "firing", (("gpu_id", "b"),)),
        Told(60, "resolved", (("gpu_id", "b"),)),
        Told(120, "resolved", (("gpu_id", "a"),)),
    ]


_LOOKS = st.lists(st.sampled_from([True, False, None, "no answer"]), max_size=40)


@settings(max_examples=300, deadline=None)
@given(
    looks=_LOOKS,
    for_s=st.sampled_from([0, 10, 25, 60]),
    keep_s=st.sampled_from([0, 20]),
    gaps_s=st.lists(st.integers(1, 40), min_size=40, max_size=40),
)
def test_nothing_fires_early_and_every_firing_resolves_at_most_once(
    looks: list[bool | str | None], for_s: int, keep_s: int, gaps_s: list[int]
) -> None:
    """Whatever is seen: firing needs an unbroken sight of `for`, and firing and resolved take turns."""
    loaded = _rule(**{"for": f"{for_s}s", "keep_firing_for": f"{keep_s}s", "group_by": []})
    states: dict[Any, State] = {}
    now_ns, true_since_ns, is_firing = START_NS, None, False
    for look, gap_s in zip(looks, gaps_s, strict=False):
        now_ns += gap_s * NS_PER_S
        true_since_ns = (true_since_ns or now_ns) if look is True else None
        one = frozenset("a")
        group = {True: Group(bad=one), False: Group(good=one), None: Group(untold=one)}.get(look, Group())
        observation = None if look == "no answer" else Observation({(): group}, is_healthy=True)
        states, events = step(loaded.rule, observation, states, now_ns)
        for event in events:
            if event.kind == "firing":
                assert not is_firing
                assert true_since_ns is not None
                assert now_ns - true_since_ns >= for_s * NS_PER_S
                is_firing = True
            if event.kind == "resolved":
                assert is_firing
                assert look is False
                is_firing = False
    assert is_firing is (bool(states) and states[()].phase == "firing")
