"""Summaries of series: pure functions of data frames."""
