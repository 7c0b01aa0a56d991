"""The native flattener says the same as the one that walks objects."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from collector.decode import columnar, plain
from collector.decode.testing import make_request, make_span

_LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(),
    st.text(st.characters(codec="utf-8"), max_size=8),
    st.binary(max_size=8),
)
_VALUES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(st.text("ab", max_size=2), inner, max_size=3)
    ),
    max_leaves=6,
)
_ATTRIBUTES = st.dictionaries(st.text("abc.", max_size=3), _VALUES, max_size=4)


def _assert_equal(payloads: list[bytes]) -> None:
    native, walked = columnar.flatten(payloads), plain.flatten(payloads)
    for name, frame in native._asdict().items():
        assert_frame_equal(frame, getattr(walked, name))


def test_every_reference_request_flattens_alike(requests: dict[str, bytes]) -> None:
    """Both flatteners make equal tables of every recorded and every reference request, alone and together."""
    for payload in requests.values():
        _assert_equal([payload])
    _assert_equal(list(requests.values()))


def test_nothing_flattens_to_empty_tables() -> None:
    """No request, and a request without spans, give tables with all columns and no rows."""
    _assert_equal([])
    _assert_equal([make_request()])


@given(st.lists(st.tuples(_ATTRIBUTES, _ATTRIBUTES, _ATTRIBUTES), max_size=3))
@settings(max_examples=40, deadline=None)
def test_values_of_every_type_flatten_alike(spans: list[tuple[dict[str, Any], ...]]) -> None:
    """Attributes of all types, nested ones too, on spans, events and resources come out equal both ways."""
    payloads = [
        make_request(
            make_span(own, number=number + 1, events=[("happened", of_event), ("", {})]), resource=of_resource
        )
        for number, (own, of_event, of_resource) in enumerate(spans)
    ]
    _assert_equal(payloads)
