"""Kalyanasundaram and others (2025): distributed rate limits."""
