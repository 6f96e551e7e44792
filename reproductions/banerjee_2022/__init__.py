"""Banerjee (2022): a cinema behind a gateway, and with messages."""
