"""The type of a text table's column: numbers only where reading them as numbers loses nothing.

A cell is text until its whole column is numbers that are written in one way. Where one number is written in two ways
(``1.1`` and ``1.10``, ``7`` and ``007``), or with a zero too many in only some cells, the column holds names such as
versions, and stays text. ``true``, ``None``, ``null`` and ``n/a`` are names, too. ``NA`` and ``nan`` among numbers are
missing numbers. A column with the name of a defined response is always read as numbers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator

import pandas as pd

_NUMBER = re.compile(r"[+-]?(?:(?:0|[1-9][0-9]{0,299})(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
"""A float holds no number of more digits, and Python reads none of thousands."""
_DECIMALS = re.compile(r"\.([0-9]+)$")
_NO_NUMBER = frozenset({"NA", "NaN", "nan"})
"""What programs that write numbers (R, pandas) write for a missing one."""
_NOTHING = frozenset({*_NO_NUMBER, "N/A", "n/a", "None", "null", "NULL"})
"""What stands for a missing value of a response."""
_EXACT = ("int64", "float64")


def typed(texts: pd.DataFrame, responses: Collection[str]) -> tuple[pd.DataFrame, list[str]]:
    """Return the table with a type for each column of texts, and in sentences what isn't evident."""
    made, notes = {}, []
    for name in texts.columns:
        cells = _trimmed(texts[name])
        made[name], stated = _typed(cells, str(name).strip() in responses)
        notes += [f"column {str(name).strip()} {sentence}" for sentence in stated]
    return pd.DataFrame(made, index=texts.index), notes


def _trimmed(cells: pd.Series) -> pd.Series:
    """Return the cells without blanks around them, in one form of each accented letter: what prints alike is alike."""
    forms = {text: unicodedata.normalize("NFC", text.strip()) for text in cells.unique()}
    return cells.map(forms)


def _typed(cells: pd.Series, response: bool) -> tuple[pd.Series, list[str]]:
    """Return a column, and notes on how it was read."""
    texts = set(cells.unique()) - {""}
    words = (_NOTHING if response else _NO_NUMBER) & texts
    rest = texts - words
    if not (_spelled(rest) if response else rest and _consistent(rest)):
        return cells.mask(cells == "", None).astype(object), list(_why_text(rest, response))
    missing = cells.isin({"", *words})
    stated = [f"has no number in {int(cells.isin(words).sum()):,} cells ({', '.join(sorted(words))})"] if words else []
    numbers = pd.to_numeric(cells.mask(missing, None))
    return numbers if str(numbers.dtype) in _EXACT else numbers.astype(float), stated


def _spelled(texts: Collection[str]) -> bool:
    """Whether all are numbers."""
    return all(_NUMBER.fullmatch(text) for text in texts)


def _consistent(texts: Collection[str]) -> bool:
    """Whether all are numbers, each written in one way, without zeros that only some of them have."""
    if not _spelled(texts):
        return False
    numbers = pd.to_numeric(pd.Series(sorted(texts)))
    return str(numbers.dtype) in _EXACT and numbers.nunique() == len(texts) and _one_form(texts)


def _one_form(texts: Collection[str]) -> bool:
    """Whether no number ends in a zero too many, or all that have decimals have equally many."""
    decimals = [found[1] for text in texts if (found := _DECIMALS.search(text))]
    return len({len(digits) for digits in decimals}) <= 1 or not any(len(d) > 1 and d[-1] == "0" for d in decimals)


def _why_text(texts: Collection[str], response: bool) -> Iterator[str]:
    """Why a column of numbers is read as text; nothing where it holds words."""
    if not response and texts and _spelled(texts):
        examples = ", ".join(sorted(texts)[:3])
        yield f"is read as names, not as numbers, because its numbers are not written alike ({examples})"
