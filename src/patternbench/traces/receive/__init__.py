"""The receiver of spans, a process of its own: OTLP over HTTP and gRPC in, Parquet out."""
