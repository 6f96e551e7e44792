"""Rate limiting: what load balancers decided in a round, how exact that was, what it cost, and what others would do."""
