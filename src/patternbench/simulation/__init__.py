"""Rounds in simulated time: models of systems, their calibration from a run, and how far they are off."""
