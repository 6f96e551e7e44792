"""What a report says about the machine's speed."""
