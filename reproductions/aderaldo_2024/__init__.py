"""Aderaldo and others (2024): retry and circuit breaker, in several languages."""
