"""How much memory a piece of work takes."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable

USUAL = (700, 10, 10)
"""When Python looks for garbage by itself, before version 3.13."""


def most_traced(work: Callable[[], object]) -> int:
    """The most memory, in bytes, that a piece of work holds; garbage is looked for as often as in the program."""
    seldom = gc.get_threshold()
    gc.set_threshold(*USUAL)
    gc.collect()
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        gc.set_threshold(*seldom)
