-- One row per host, sampler and quarter-hour in which it measured how far its clock was from the collector's; it
-- outlives the samples.
create table host_offsets (host varchar, source varchar, quarter_ns bigint not null, offset_ns bigint not null)
