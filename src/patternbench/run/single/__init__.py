"""What runs without a plan: one try of each journey, the search for a rate, the check of a subject."""
