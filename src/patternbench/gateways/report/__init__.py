"""What the report shows of gateways."""
