"""The sections of the report that traces contribute."""
