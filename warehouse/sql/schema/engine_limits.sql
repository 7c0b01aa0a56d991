-- One row per deployment and quarter-hour in which its engines told how many sequences one replica runs at once; in
-- force until they tell another. It outlives the points.
create table engine_limits (deployment varchar not null, quarter_ns bigint not null, max_num_seqs integer not null)
