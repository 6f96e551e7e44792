"""The report's section on series."""
