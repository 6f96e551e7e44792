"""Parts of pages between marks, tables, and what a run's rounds lack in trust.

A part called ``verdicts`` stands between ``<!-- verdicts -->`` and ``<!-- end of verdicts -->``, each on its own line.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from patternbench.terms.quantities import number

LEFT_OUT = "not_valid"
"""Under this name a kept table says, in the attributes of its Parquet file, how many rounds of a run are not valid."""


def part(page: str, name: str) -> str:
    """Return what stands in a page between the marks of a part."""
    return page.split(_start(name))[1].split(_end(name), maxsplit=1)[0]


def with_part(page: str, name: str, text: str) -> str:
    """Return the page with the text between the marks of a part."""
    before, rest = page.split(_start(name))
    return before + _start(name) + text + _end(name) + rest.split(_end(name))[1]


def _start(name: str) -> str:
    return f"<!-- {name} -->\n"


def _end(name: str) -> str:
    return f"\n<!-- end of {name} -->"


def write(page: Path, parts: Mapping[str, str]) -> None:
    """Put every part into a page's file."""
    text = page.read_text(encoding="utf-8")
    for name, expected in parts.items():
        text = with_part(text, name, expected)
    page.write_text(text, encoding="utf-8")


def table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Cells as a Markdown table."""
    first, *lines = (f"| {' | '.join(map(str, line))} |" for line in (heads, *rows))
    return "\n".join([first, f"|{'---|' * len(heads)}", *lines])


def spread(values: pd.Series[float], factor: float = 1.0) -> str:
    """Return the median over rounds, of those that know it, with the least and the greatest: ``41 (40 to 42)``."""
    known = values.dropna() * factor
    ends = (number(end) for end in (known.median(), known.min(), known.max()))
    return "{} ({} to {})".format(*ends) if len(known) else "none"


def within(value: float, low: float | None, high: float | None) -> str:
    """Return a number with its interval, where there is one: ``0.4 (0.3 to 0.5)``."""
    if low is None or high is None or not np.isfinite([low, high]).all():
        return number(value)
    return f"{number(value)} ({number(low)} to {number(high)})"


def estimated(value: float, error: float) -> str:
    """Return an estimate with its standard error."""
    return f"{number(value)} ± {number(error)}"


def warned(rounds: pd.DataFrame) -> str:
    """How many rounds carry which warning, the most frequent first, and how many were left out as not valid."""
    kinds = Counter(kind for text in rounds["warnings"].dropna() for kind in {one["kind"] for one in json.loads(text)})
    reported = ", ".join(f"`{kind}` {count:,}" for kind, count in kinds.most_common())
    left_out = f" Left out, since not valid: {rounds.attrs[LEFT_OUT]:,}." if rounds.attrs.get(LEFT_OUT) else ""
    return f"Rounds: {len(rounds):,}. Warnings that they carry: {reported or 'none'}.{left_out}"
