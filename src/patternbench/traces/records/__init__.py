"""The stored spans of rounds."""
