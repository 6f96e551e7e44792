"""Records to tables and models: pure functions of data frames."""
