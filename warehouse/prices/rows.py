"""The shape of a price: what one dated row says."""

from decimal import Decimal
from typing import NamedTuple

PER_MILLION = Decimal(1_000_000)


class TokenPrice(NamedTuple):
    """USD per token for one stretch of time, part of the day and size of prompt; all half-open."""

    from_ns: int
    to_ns: int | None
    day_from_s: int | None
    day_to_s: int | None
    prompt_from_tokens: int
    prompt_to_tokens: int | None
    input_usd: Decimal
    cache_read_usd: Decimal | None
    cache_write_usd: Decimal | None
    cache_write_1h_usd: Decimal | None
    output_usd: Decimal
    source: str
    is_user_row: bool
    service_tier: str | None = None  # batch, flex, priority ...; none: the ordinary one


class GpuPrice(NamedTuple):
    """USD for one GPU for one hour, as a price list of a day had it."""

    sku: str
    provider: str
    region: str | None
    kind: str
    usd_per_gpu_hour: Decimal
    from_ns: int
    source: str
    is_default: bool
    is_user_row: bool
    to_ns: int | None = None  # none: until the next row of the SKU
