"""The library that charts are described with, loaded so that a user without a home can load it, too.

While it is loaded it asks for the user's home, where it keeps data sets that we don't use. In a container a user may be
a bare number without one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def some_home() -> Iterator[None]:
    """Give a user without a home the root folder for a moment; nothing is written there."""
    try:
        Path.home()
    except RuntimeError:
        os.environ.update(HOME="/")
        try:
            yield
        finally:
            os.environ.pop("HOME")
    else:
        yield


with some_home():
    import altair as alt

__all__ = ["alt"]
