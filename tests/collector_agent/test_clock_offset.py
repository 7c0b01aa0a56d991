"""How far this machine's clock is from the collector's: bounds that hold the truth, however long the way."""

import httpx
from hypothesis import given
from hypothesis import strategies as st

from collector.agent.offset import Bounds, ClockOffset, narrow
from taximeter.clock import NS_PER_S, ManualClock

DELAYS = st.floats(0, 2, allow_nan=False)


@given(st.floats(-100, 100, allow_nan=False), st.lists(st.tuples(DELAYS, DELAYS), min_size=1, max_size=6))
def test_the_truth_is_within_the_error_that_is_told(
    ahead_s: float, delays: list[tuple[float, float]]
) -> None:
    """Whatever question and answer took, our clock is as far ahead as is said, within its error."""
    clock = ManualClock(NS_PER_S * 1_000_000)
    way: list[tuple[float, float]] = []

    def answer(_: httpx.Request) -> httpx.Response:
        there_s, back_s = way.pop()
        clock.sleep(there_s)
        told_ns = clock.now_ns() - round(ahead_s * NS_PER_S)
        clock.sleep(back_s)
        return httpx.Response(200, json={"now_ns": told_ns})

    offset = ClockOffset("http://c", clock, lambda: httpx.Client(transport=httpx.MockTransport(answer)))
    errors = []
    for delay in delays:
        way.append(delay)
        offset.ask()
        found = offset.offset()
        assert found is not None
        assert abs(found.offset_s - ahead_s) <= found.error_s + 1e-6
        errors.append(found.error_s)
    offset.close()
    assert errors[-1] <= max(sum(delay) for delay in delays) + 0.01


def test_a_collector_without_that_page_is_taken_by_its_date() -> None:
    """The `Date` of an answer is cut to seconds, and the error says so."""
    clock = ManualClock(NS_PER_S * 1_000_000)
    date = {"date": "Mon, 12 Jan 1970 13:46:30 GMT"}  # 999,990 s after 1970: ten behind our clock

    def answer(_: httpx.Request) -> httpx.Response:
        return httpx.Response(404, headers=date)

    offset = ClockOffset("http://c", clock, lambda: httpx.Client(transport=httpx.MockTransport(answer)))
    offset.ask()
    found = offset.offset()
    offset.close()
    assert found is not None
    assert 1 <= found.error_s < 1.2
    assert abs(found.offset_s - 9) <= found.error_s + 0.1


def test_nobody_there_leaves_it_unknown() -> None:
    """Without an answer there is no offset, not an offset of zero."""

    def answer(_: httpx.Request) -> httpx.Response:
        message = "nobody"
        raise httpx.ConnectError(message)

    offset = ClockOffset(
        "http://c", ManualClock(), lambda: httpx.Client(transport=httpx.MockTransport(answer))
    )
    offset.ask()
    assert offset.offset() is None
    offset.close()


def test_a_clock_that_was_set_is_believed_at_once() -> None:
    """Bounds that contradict what was known replace it."""
    before, now = Bounds(0, 1e6, 0), Bounds(5e9, 5.1e9, NS_PER_S)
    assert narrow(before, now) == now
