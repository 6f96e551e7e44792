"""The observer of traces: a receiver for OTLP, calls counted by type, where the time of a request goes."""
