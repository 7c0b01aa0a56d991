-- grain: price of a SKU in force for a stretch of time
-- inputs: gpu_prices
-- law: columns in the order of warehouse.prices.rows.GpuPrice
select
    sku,
    provider,
    region,
    kind,
    usd_per_gpu_hour,
    from_ns,
    source,
    is_default,
    is_user_row,
    to_ns
from gpu_prices
