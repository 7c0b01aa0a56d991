"""What each exporter's metric names, units and labels mean: one data file per source, one reader."""
