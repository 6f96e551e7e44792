"""What the report says of CPU time and memory by component."""
