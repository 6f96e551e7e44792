"""When a scenario has enough rounds, and what to doubt of rounds that stopped by themselves."""
