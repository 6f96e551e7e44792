"""Series of a monitoring system: what Prometheus says of a round, kept with it."""
