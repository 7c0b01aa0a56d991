-- grain: GPU as the refresh before knew it
-- inputs: gpus
-- law: what changed since is found by comparing with this
create or replace temp table gpus_before as select * from gpus
