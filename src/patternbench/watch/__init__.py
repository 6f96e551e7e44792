"""A run as it is watched: what its records say so far and how its round goes, for a terminal and for a browser.

Nothing here writes to a run, and no word is worked out here: choices, intervals and warnings are the report's own.
"""
