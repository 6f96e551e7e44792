"""Evidence instead of folklore for the patterns of microservice systems."""

__version__ = "0.1.0"
