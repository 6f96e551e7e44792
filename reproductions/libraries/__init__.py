"""How libraries that are configured alike differ."""
