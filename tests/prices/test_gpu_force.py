"""GPU prices in force: which row prices a card, and what a changed list leaves alone."""

from decimal import Decimal

from hypothesis import given
from hypothesis import strategies as st

from warehouse.prices import gpu_force
from warehouse.prices.rows import GpuPrice

STARTS = st.integers(0, 20)


def row(from_ns: int, usd: int, *, own: bool = True, default: bool = True, sku: str = "A") -> GpuPrice:
    return GpuPrice(sku, "seller", None, "on_demand", Decimal(usd), from_ns, f"list of {usd}", default, own)


def price_at(rows: list[GpuPrice], instant: int) -> Decimal | None:
    holding = [r for r in rows if r.from_ns <= instant and (r.to_ns is None or instant < r.to_ns)]
    assert len(holding) <= 1
    return holding[0].usd_per_gpu_hour if holding else None


def test_own_rows_win_from_their_first_day() -> None:
    """The default holds before the first own row; rows to compare with price nothing."""
    line = gpu_force.choose(
        [row(0, 1, own=False), row(15, 2, own=False), row(10, 3), row(20, 4), row(5, 9, default=False)]
    )

    assert [price_at(line, instant) for instant in (0, 9, 10, 19, 20, 99)] == [1, 1, 3, 3, 4, 4]


@given(
    st.dictionaries(STARTS, st.integers(1, 4), max_size=4),
    st.dictionaries(STARTS, st.integers(1, 4), max_size=4),
    STARTS,
    STARTS,
)
def test_a_range_takes_the_new_list_and_the_rest_stays(
    was: dict[int, int], new: dict[int, int], since: int, length: int
) -> None:
    """At every instant the list of its side of the range holds, and neighbours of one price are one row."""
    force = gpu_force.choose(row(start, usd) for start, usd in was.items())
    listed = gpu_force.choose(row(start, usd) for start, usd in new.items())

    line = gpu_force.replace(force, listed, since, since + length)

    for instant in range(45):
        wanted = listed if since <= instant < since + length else force
        assert price_at(line, instant) == price_at(wanted, instant)
    assert gpu_force.replace(line, force, 0) == gpu_force.replace([], force, 0)


def test_a_changed_list_bills_the_past_only_of_cards_that_never_were() -> None:
    """What a SKU was billed at stays until now; a SKU that billed nothing takes the new list for all time."""
    force = gpu_force.choose([row(0, 1), row(0, 1, sku="B")])
    listed = gpu_force.choose([row(0, 2), row(0, 2, sku="B")])

    line = gpu_force.change(force, listed, 10, {"A"})

    by_sku = {sku: [r for r in line if r.sku == sku] for sku in ("A", "B")}
    assert [price_at(by_sku["A"], 9), price_at(by_sku["A"], 10)] == [1, 2]
    assert [price_at(by_sku["B"], 9), price_at(by_sku["B"], 10)] == [2, 2]
