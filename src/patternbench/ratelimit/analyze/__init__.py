"""The judge of rate limiting and what a limiter costs; pure functions of data frames."""
