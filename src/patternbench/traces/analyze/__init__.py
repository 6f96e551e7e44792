"""What spans say: pure functions of data frames."""
