"""What is kept of rate limiting: the decisions of a round, and what was simulated beside a run."""
