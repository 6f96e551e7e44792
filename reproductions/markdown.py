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


def spread(values: pd.Series[float], factor: float = 1.0) -> str:
    """Return the median over rounds, of those that know it, with the least and the greatest: ``41 (40 to 42)``."""
    known = values.dropna() * factor
    return _between(known.median(), known.min(), known.max()) if len(known) else "none"


def within(value: float, low: float | None, high: float | None) -> str:
    """Return a number with its interval, where there is one: ``0.4 (0.3 to 0.5)``."""
    if low is None or high is None or not np.isfinite([low, high]).all():
        return number(value)
    return _between(value, low, high)


def _between(value: float, low: float, high: float) -> str:
    """Return a number with its ends, or alone where all three are printed alike."""
    printed, *ends = (number(one) for one in (value, low, high))
    return printed if {*ends} == {printed} else "{} ({} to {})".format(printed, *ends)


def warned(rounds: pd.DataFrame) -> str:
    """How many rounds carry which warning, most frequent first, then by name, and how many are not valid."""
    kinds = Counter(kind for text in rounds["warnings"].dropna() for kind in {one["kind"] for one in json.loads(text)})
    reported = ", ".join(
        f"`{kind}` {count:,}" for kind, count in sorted(kinds.items(), key=lambda one: (-one[1], one[0]))
    )
    left_out = f" Left out, since not valid: {rounds.attrs[LEFT_OUT]:,}." if rounds.attrs.get(LEFT_OUT) else ""
    return f"Rounds: {len(rounds):,}. Warnings that they carry: {reported or 'none'}.{left_out}"
