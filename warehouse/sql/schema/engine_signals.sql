-- One row per raw name of a serving engine's figure: seeds/engine_signals.csv, which says what the columns mean.
create table engine_signals (
    engine varchar not null,
    metric varchar not null,
    signal varchar not null,
    kind varchar not null,
    over varchar not null,
    unit varchar not null,
    factor double not null,
    place integer not null,
    label varchar,
    label_value varchar
)
