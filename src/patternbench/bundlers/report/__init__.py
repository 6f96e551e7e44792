"""What the report shows of bundlers."""
