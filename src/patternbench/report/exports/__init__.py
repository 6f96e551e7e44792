"""A run's records in the forms of other tools: one file per form."""
