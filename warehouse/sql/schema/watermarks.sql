-- One row per journal: every block of it up to `sequence` is loaded. Blocks above it are rows of `blocks`.
create table watermarks (journal varchar not null, sequence bigint not null)
