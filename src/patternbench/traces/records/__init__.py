"""What is kept of the spans of a round, and read back."""
