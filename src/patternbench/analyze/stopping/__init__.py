"""When a scenario has enough rounds, and the warnings about rounds that stopped by themselves."""
