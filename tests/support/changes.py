"""Reads the numbers of a change that was written in words."""

from __future__ import annotations

import re


def numbers(text: str) -> list[float]:
    """The numbers of a change: itself and the ends of its interval, as far as there is one."""
    return [float(one) for one in re.findall(r"[+-]?\d+(?:\.\d+)?", text.replace("−", "-").replace(",", ""))]
