"""The seam of observers, and the values that cross it: doubts, responses, sections."""
