"""Configurations of the programs that components run, and the settings that they are made of."""
