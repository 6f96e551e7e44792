"""Plan x lab x drivers to records: runner, journal, resume."""
