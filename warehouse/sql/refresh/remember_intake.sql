-- grain: one row
-- inputs: parameters
-- law: what the folder held, so that a report needs no disk
insert into intake (looked_ns, blocks_waiting, oldest_waiting_ns, blocks_quarantined)
values ($looked_ns, $blocks_waiting, $oldest_waiting_ns, $blocks_quarantined)
