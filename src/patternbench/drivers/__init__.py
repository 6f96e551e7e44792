"""Puts load on a system: resilience-library clients and the native engine."""
