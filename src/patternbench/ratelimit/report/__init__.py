"""The section on rate limiting of a run's report."""
