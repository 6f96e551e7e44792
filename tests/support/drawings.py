"""Compares drawings whose numbers come from models, which each processor rounds in its own way in the last digits."""

from __future__ import annotations

import re

import pytest

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
CLOSE = 1e-4
"""Of a pixel, far below what anyone sees."""


def same_drawing(one: str, other: str) -> bool:
    """Whether two drawings have the same text, and all their numbers are the same but for rounding."""
    if NUMBER.sub("#", one) != NUMBER.sub("#", other):
        return False
    sides = ([float(number) for number in NUMBER.findall(drawing)] for drawing in (one, other))
    return all(a == pytest.approx(b, abs=CLOSE) for a, b in zip(*sides, strict=True))
