"""Rate limiting: decisions of load balancers, their accuracy and cost, and simulated decisions of other limiters."""
