-- grain: journal whose watermark moves
-- inputs: blocks, watermarks
-- law: the new watermark is the highest block with no gap below it, counted from the old watermark
merge into watermarks
using (
    select journal, max(sequence) as sequence
    from (
        select
            blocks.journal,
            blocks.sequence,
            coalesce(watermarks.sequence, -1)
            + row_number() over (partition by blocks.journal order by blocks.sequence) as expected
        from blocks
        left join watermarks on watermarks.journal = blocks.journal
    ) as numbered
    where sequence = expected
    group by journal
) as advanced
on watermarks.journal = advanced.journal
when matched then update set sequence = advanced.sequence
when not matched then insert (journal, sequence) values (advanced.journal, advanced.sequence)
