-- grain: arriving block that is already loaded
-- inputs: view arriving_blocks (journal, sequence), watermarks, blocks, the loaded rows
-- law: a loaded block that left no row has version 0, so that a re-decode may replace it
with loaded as (
    select arriving_blocks.journal, arriving_blocks.sequence, blocks.decoder_version
    from arriving_blocks
    left join watermarks on watermarks.journal = arriving_blocks.journal
    left join blocks
        on blocks.journal = arriving_blocks.journal and blocks.sequence = arriving_blocks.sequence
    where arriving_blocks.sequence <= watermarks.sequence or blocks.sequence is not null
),

versions as (
    select journal, sequence, decoder_version from spans semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, decoder_version from samples semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, decoder_version from logs semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, decoder_version from points semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, decoder_version from bills semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, decoder_version from refused semi join loaded using (journal, sequence)
    union all by name
    select journal, sequence, coalesce(decoder_version, 0) as decoder_version from loaded
)

select journal, sequence, max(decoder_version) as decoder_version
from versions
group by journal, sequence
