"""Formulas of papers on rows of ours, which may tell less."""

from __future__ import annotations

import pandas as pd


def identified(formula: str, table: pd.DataFrame) -> str:
    """Return a formula without the terms of which the table tells nothing, or always the same."""
    response, _, terms = formula.partition(" ~ ")
    reported = [term for term in terms.split(" + ") if table[term].notna().all() and table[term].nunique() > 1]
    return f"{response} ~ {' + '.join(reported)}"
