"""Launches components on this machine: processes, ports, readiness, limits, logs, and their end."""
