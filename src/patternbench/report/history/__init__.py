"""A history of runs: what one adds to it, what all of them say together, and its page."""
