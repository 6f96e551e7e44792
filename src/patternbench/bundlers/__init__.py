"""The observer of bundlers: how many calls they saved."""
