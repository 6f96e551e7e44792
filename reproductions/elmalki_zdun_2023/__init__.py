"""El Malki and Zdun (2023): request bundle, rate limit and load balancing together."""
