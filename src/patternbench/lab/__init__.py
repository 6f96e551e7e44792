"""Brings a system up on this machine for a scenario: one file per kind of component."""
