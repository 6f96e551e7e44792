"""The records of rate limiting: the decisions of rounds, and the simulations of a run."""
