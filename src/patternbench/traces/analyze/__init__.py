"""Analysis of spans: pure functions of data frames."""
