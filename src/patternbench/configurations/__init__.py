"""What products that callers already run can be configured to: their forms, their fields, and what each field means."""
