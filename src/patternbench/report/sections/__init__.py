"""The sections of a run's page; one file per kind."""
