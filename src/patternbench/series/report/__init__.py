"""The section of the report on series."""
