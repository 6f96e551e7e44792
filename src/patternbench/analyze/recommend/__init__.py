"""Which configuration to choose, and how surely."""
