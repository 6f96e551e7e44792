"""Runs the filter's own code in simulated time."""
