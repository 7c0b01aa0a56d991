-- One row: the version of the schema that this file holds.
create table schema_version (version integer not null)
