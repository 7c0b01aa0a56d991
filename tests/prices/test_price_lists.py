"""Price lists that others keep: what is taken into the user's file, what is refused, what stays as it was."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path

import pytest

from taximeter.errors import BadInputError, SettingsError
from taximeter.settings import Prices, Settings
from warehouse.prices import entry, user_file
from warehouse.prices.entry import Taken, Wanted

LISTS = Path(__file__).parents[3] / "shared" / "data" / "price-tables"
DAY = "2026-11-09"

Book = Callable[[str], Settings]


@pytest.fixture(name="book")
def _book(tmp_path: Path) -> Book:
    def make(text: str) -> Settings:
        file = tmp_path / "prices.yaml"
        if text:
            file.write_text(text, encoding="utf-8")
        return Settings(prices=Prices(file=file))

    return make


def take(book: Settings, folder: Path, text: str, **wanted: str) -> Taken:
    file = folder / "list"
    file.write_text(text, encoding="utf-8")
    return entry.import_list(book, file, Wanted(**wanted))


def own(book: Settings) -> user_file.UserPrices:
    return user_file.read(book.prices.file)


def recorded(name: str) -> Path:
    if not (LISTS / name).exists():
        pytest.skip(f"shared/data/price-tables/{name} is not here")
    return LISTS / name


def test_an_instance_price_is_divided_by_its_cards(book: Book) -> None:
    """A real catalogue gives the price of one card for one hour, on demand and spot, empty cells left out."""
    settings = book("")
    file = recorded("skypilot_v8_verda_vms.csv")

    first = entry.import_list(settings, file, Wanted(dated=DAY, provider="Verda"))
    again = entry.import_list(settings, file, Wanted(dated=DAY, provider="Verda"))

    found: dict[tuple[str, str], set[Decimal]] = {}
    for row in own(settings).gpus:
        found.setdefault((row.sku, row.kind), set()).add(row.usd_per_gpu_hour)
    wanted = {
        "B300": ("6.99", "2.447"), "B200": ("4.89", "1.712"), "H200": ("3.39", "1.1865"),
        "H100-SXM": ("2.29", "0.8015"), "A100-80": ("1.29", "0.4515"), "V100": ("0.1381", None),
        "RTX-PRO-6000": ("1.69", "0.5915"),
    }  # fmt: skip
    for sku, (on_demand, spot) in wanted.items():
        assert Decimal(on_demand) in found[sku, "on_demand"]
        assert (Decimal(spot) in found[sku, "spot"]) if spot else ((sku, "spot") not in found)
    assert first.refused == []
    assert (again.written, again.present) == (0, first.written)
    assert not any(row.is_default for row in own(settings).gpus)


def test_a_table_of_models_gives_all_parts_and_tiers(book: Book) -> None:
    """USD per token become USD per million, with caches and the tier for whole prompts above 200,000."""
    settings = book("")
    file = recorded("litellm_model_prices.cut.json")

    entry.import_list(settings, file, Wanted(dated=DAY, models="claude-sonnet-4-5"))
    entry.import_list(settings, file, Wanted(dated=DAY, models="gemini/gemini-2.5-pro"))

    sonnet, base, tier = (row for row in own(settings).tokens if row.price.service_tier is None)
    assert [
        None if usd is None else usd * 1_000_000
        for usd in (sonnet.price.input_usd, sonnet.price.cache_read_usd, sonnet.price.cache_write_usd,
                    sonnet.price.cache_write_1h_usd, sonnet.price.output_usd)
    ] == [3, Decimal("0.3"), Decimal("3.75"), 6, 15]  # fmt: skip
    assert (base.pattern, base.price.prompt_from_tokens, tier.price.prompt_from_tokens) == (
        "gemini-2.5-pro", 0, 200_001,
    )  # fmt: skip
    assert (base.price.input_usd * 2, base.price.output_usd * 3) == (
        tier.price.input_usd,
        tier.price.output_usd * 2,
    )
    assert own(settings).for_model({"gemini"}, "gemini/gemini-2.5-pro")[:2] == [base.price, tier.price]
    batch = next(row for row in own(settings).tokens if row.price.service_tier == "batch")
    assert (batch.pattern, batch.price.input_usd * 2, batch.price.output_usd * 2) == (
        sonnet.pattern,
        sonnet.price.input_usd,
        sonnet.price.output_usd,
    )
    assert own(settings).for_model({"azure"}, "gemini-2.5-pro") == []


@pytest.mark.parametrize(
    ("text", "wanted", "told"),
    [
        ("sku,price\nL4,0.5\n", {}, "--dated"),
        ('{"m": {"mode": "chat"}}', {}, "--dated"),
        ("AcceleratorName,AcceleratorCount,Price,SpotPrice\nL4,1,0.5,\n", {"dated": DAY}, "--provider"),
        ("some,columns\n1,2\n", {"dated": DAY}, "no list of GPU prices"),
        ('{"m": 3}', {"dated": DAY}, "no table of model prices"),
        (
            "AcceleratorName,AcceleratorCount,Price,SpotPrice\nL4,1,0.5,\n",
            {"dated": "soon", "provider": "x"},
            "not a date",
        ),
    ],
)
def test_a_list_that_does_not_say_enough_is_refused(
    book: Book, tmp_path: Path, text: str, wanted: dict[str, str], told: str
) -> None:
    """A price without a date, a seller or a known header is not taken, and one line says what is missing."""
    with pytest.raises((BadInputError, SettingsError), match=told):
        take(book(""), tmp_path, text, **wanted)


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (f"L4,0.5,EUR,,{DAY}", "EUR"),
        ("L4,0.5,USD,,", "no date"),
        (f"L4,0.5,USD,month,{DAY}", "month"),
        (f"L4,-0.5,USD,,{DAY}", "no amount"),
        (f"L4,0.5,USD,,{DAY[:7]}-39", "not a date"),
        (f"A100-80,14.692,USD,,{DAY}", "three times off"),
    ],
)
def test_a_bad_row_is_refused_and_the_next_is_taken(book: Book, tmp_path: Path, row: str, told: str) -> None:
    """Other currencies and units, missing dates and prices of whole instances are told with their reason."""
    settings = book("")

    taken = take(settings, tmp_path, f"sku,price,currency,unit,date\n{row}\nL4,0.8,USD,gpu-hour,{DAY}\n")

    assert taken.written == 1
    assert len(taken.refused) == 1
    assert told in taken.refused[0]
    assert [gpu.usd_per_gpu_hour for gpu in own(settings).gpus] == [Decimal("0.8")]


@pytest.mark.parametrize(
    ("model", "told"),
    [
        (
            '{"mode": "image_generation", "input_cost_per_token": 1e-6, "output_cost_per_token": 1e-6}',
            "image",
        ),
        ('{"mode": "chat", "input_cost_per_token": 0.0, "output_cost_per_token": 0.0}', "costs nothing"),
        ('{"mode": "chat", "input_cost_per_token": 1e-6}', "no price for input and output"),
        ('{"mode": "chat", "tiered_pricing": []}', "tiered_pricing"),
    ],
)
def test_a_model_that_a_table_does_not_price_is_refused(
    book: Book, tmp_path: Path, model: str, told: str
) -> None:
    """What is not sold by text tokens, or has no price, is told and never becomes a price of 0."""
    taken = take(book(""), tmp_path, f'{{"m": {model}}}', dated=DAY)

    assert taken.written == 0
    assert told in taken.refused[0]


def test_a_row_is_added_below_its_list_and_nothing_else_changes(book: Book) -> None:
    """Comments, order and spelling of the file stay; the new line stands at the end of its list."""
    text = (
        "# mine\ntokens:\n  - model: x  # ours\n    from: 2026-01-01\n    input_usd_per_mtok: 1\n"
        "    output_usd_per_mtok: 1\n\n# cards\ngpus:\n- {sku: L4, from: 2026-01-01, usd_per_gpu_hour: 0.7}\n"
    )
    settings = book(text)
    row = {"model": "y", "from": DAY, "input_usd_per_mtok": "1.10", "output_usd_per_mtok": "2"}

    entry.add(settings, "tokens", row)

    assert settings.prices.file is not None
    lines = settings.prices.file.read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if "model: y" not in line] == text.splitlines()
    assert [token.pattern for token in own(settings).tokens] == ["x", "y"]
    assert own(settings).tokens[1].price.input_usd * 1_000_000 == Decimal("1.10")


def test_a_row_is_never_overwritten(book: Book) -> None:
    """A second row for the same model and date is refused, whatever its price; the file stays as it was."""
    settings = book("")
    row = {"model": "y", "from": DAY, "input_usd_per_mtok": "1", "output_usd_per_mtok": "2"}
    entry.add(settings, "tokens", row)

    with pytest.raises(BadInputError, match="never overwritten"):
        entry.add(settings, "tokens", {**row, "input_usd_per_mtok": "9"})

    assert len(own(settings).tokens) == 1


def test_a_price_that_is_far_off_needs_a_word(book: Book) -> None:
    """More than three times off the others' median is refused, unless the person says that it is right."""
    settings = book("")
    row = {"sku": "A100-80", "from": DAY, "usd_per_gpu_hour": "20", "discount_ratio": "0.25"}

    with pytest.raises(BadInputError, match="three times off"):
        entry.add(settings, "gpus", row)
    entry.add(settings, "gpus", row, anyway=True)

    (gpu,) = own(settings).gpus
    assert (gpu.usd_per_gpu_hour, gpu.source) == (15, "your price file, less 25 %")
    assert gpu.is_default


def test_a_low_price_that_another_seller_asks_too_is_taken(book: Book, tmp_path: Path) -> None:
    """A market is wider than three times: only a price that stands alone is refused."""
    taken = take(book(""), tmp_path, "sku,price,provider\nH100-SXM,2.29,here\nH100-SXM,39,there\n", dated=DAY)

    assert taken.written == 1
    assert "39 USD" in taken.refused[0]
