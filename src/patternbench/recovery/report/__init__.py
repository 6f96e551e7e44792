"""What the report says of recovery."""
