"""The seam of observers, and the values that cross it: warnings, responses, sections."""
