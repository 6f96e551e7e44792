"""The receiver of spans, its own process: OTLP over HTTP and gRPC in, Parquet out."""
