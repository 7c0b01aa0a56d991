-- grain: block that its journal's watermark has passed
-- inputs: blocks, watermarks
-- law: a block is known either by its row or by its watermark, never by both
delete from blocks using watermarks
where blocks.journal = watermarks.journal and blocks.sequence <= watermarks.sequence
