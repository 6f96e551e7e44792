"""The observer of gateways: what each Envoy answered itself, retried and left out in a round."""
