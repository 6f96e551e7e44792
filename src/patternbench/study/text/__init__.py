"""The text of a study: how files are read, bounded and understood, with the line of each value."""
