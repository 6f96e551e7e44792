"""The error that a path holds no table: apart from what reads tables, which takes long to load."""

from __future__ import annotations


class TableError(ValueError):
    """The path holds no table that can be read; the message says why and what to do."""
