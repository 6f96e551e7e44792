"""Tables and numbers of pages in Markdown, and what a run's rounds lack in trust."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
import pandas as pd

from patternbench.terms.quantities import number

LEFT_OUT = "not_valid"
"""Under this name a kept table says, in the attributes of its Parquet file, how many rounds of a run are not valid."""


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Cells as a Markdown table."""
    first, *lines = (f"| {' | '.join(map(str, line))} |" for line in (heads, *rows))
    return "\n".join([first, f"|{'---|' * len(heads)}", *lines])


def spread(values: pd.Series[float], factor: float = 1.0, beyond: float = np.inf) -> str:
    """Return the median over rounds, of those that know it, with the least and the greatest: ``41 (40 to 42)``.

    What is ``beyond`` a number or at it, in the unit of the values, was seen no longer: ``over 30``.
    """
    known = values.dropna() * factor
    if known.empty:
        return "none"
    most = beyond * factor
    ends = (known.median(), known.min(), known.max())
    return _between(*(number(end) if end < most else f"over {number(most)}" for end in ends))


def within(value: float, low: float | None, high: float | None) -> str:
    """Return a number with its interval, where there is one: ``0.4 (0.3 to 0.5)``."""
    if low is None or high is None or not np.isfinite([low, high]).all():
        return number(value)
    return _between(number(value), number(low), number(high))


def _between(value: str, low: str, high: str) -> str:
    """Return a number with its ends, or alone where all three are printed alike."""
    return value if value == low == high else f"{value} ({low} to {high})"


def warned(rounds: pd.DataFrame) -> str:
    """How many rounds carry which warning, most frequent first, then by name, and how many are not valid."""
    kinds = Counter(kind for text in rounds["warnings"].dropna() for kind in {one["kind"] for one in json.loads(text)})
    reported = ", ".join(
        f"`{kind}` {count:,}" for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    )
    left_out = f" Left out, since not valid: {rounds.attrs[LEFT_OUT]:,}." if rounds.attrs.get(LEFT_OUT) else ""
    return f"Rounds: {len(rounds):,}. Warnings that they carry: {reported or 'none'}.{left_out}"
