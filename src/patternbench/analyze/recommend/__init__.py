"""Recommendations: which configuration to choose, and how sure that is."""
