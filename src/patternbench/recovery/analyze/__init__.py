"""What rounds with a fault say, from tables alone."""
