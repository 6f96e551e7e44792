"""The observer of gateways: requests that each Envoy answered itself or retried, and hosts that it left out."""
