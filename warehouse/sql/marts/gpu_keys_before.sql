-- grain: name under which a source tells a GPU, as the refresh before knew it
-- inputs: gpu_keys
-- law: a name once seen stays known, even when its samples are gone
create or replace temp table gpu_keys_before as select * from gpu_keys
