-- grain: SKU of a GPU that the refresh before had a price for
-- inputs: gpus, gpu_rates
-- law: what was billed is not billed otherwise because a list changed
select distinct g.sku
from gpus as g
inner join gpu_rates as r on g.gpu_id = r.gpu_id
where g.sku is not null
