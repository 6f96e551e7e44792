"""The ground floor: the terms that every room shares, and the one list of responses."""
