"""What load does to a service: tests over users and rates, and the search for the rate it can take."""
