"""The receiver of spans, a process of its own: OTLP over HTTP in, Parquet out."""
