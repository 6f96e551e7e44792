"""Lanes: machines of which each runs whole blocks of a run, so that nothing is compared across two of them."""
