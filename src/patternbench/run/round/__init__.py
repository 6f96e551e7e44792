"""One round: its order, the parts that stay up for it, its execution, and the warnings that come of it."""
