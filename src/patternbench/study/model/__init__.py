"""What the models of a study are made of: levels, roles, units, settings, and the system under test."""
