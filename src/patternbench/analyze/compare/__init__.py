"""Comparisons of two sets of rounds, and the release gate that decides on their difference."""
