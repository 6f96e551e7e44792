"""What series come to: pure functions of data frames."""
