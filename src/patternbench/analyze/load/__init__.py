"""The effect of load on a service: load tests over users and rates, and the search for its capacity."""
