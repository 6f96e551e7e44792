"""Turns traffic that someone recorded or described into workloads: logs, HAR, OpenAPI, curl."""
