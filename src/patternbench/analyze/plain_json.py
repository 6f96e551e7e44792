"""Results of an analysis as plain JSON values: what numpy made as Python's own, what does not exist as null."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from patternbench.terms.data_problems import Note


def notes_json(notes: Sequence[Note]) -> list[dict[str, str]]:
    """Lay out notes."""
    return [{"kind": note.kind, "text": note.text} for note in notes]


def plain(laid_out: Mapping[str, object]) -> dict[str, object]:
    """Turn numpy values into plain ones, and numbers that do not exist into null."""
    return {str(key): _plain(value) for key, value in laid_out.items()}


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return plain(value)
    if isinstance(value, (list, tuple)):
        return [_plain(part) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return value if isinstance(value, (str, int, float, bool, type(None))) else str(value)
