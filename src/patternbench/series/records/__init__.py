"""The records of a round's series."""
