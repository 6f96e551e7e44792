"""Whether a back-off of a third of the unloaded response time is right."""
