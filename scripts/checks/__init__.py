"""What ``scripts/test`` does: it runs the checks of every language and counts what they say."""
