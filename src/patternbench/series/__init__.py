"""Series of a monitoring system: values from Prometheus, kept with each round."""
