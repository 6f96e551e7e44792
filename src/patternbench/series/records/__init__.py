"""What is kept of the series of a round."""
