"""Which limiters are simulated; pure: declared values in, scenarios for the simulator out."""
