"""Student's t as statements ask it, thousands of times for one report: without what ``scipy.stats`` checks each time.

A call of ``scipy.stats.t`` takes a hundred times as long as the function of ``scipy.special`` that it ends in. Both
give the same bits: ``tests/unit/analyze/test_students_t.py``.
"""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy import special

from patternbench.terms.arrays import Numbers


def chance_above(t: Numbers, df: Numbers) -> Numbers:
    """Return the chance of a value above ``t``, with ``df`` degrees of freedom; NaN where one of both is."""
    return cast(Numbers, special.stdtr(df, np.negative(t)))


def quantile(share: Numbers, df: Numbers) -> Numbers:
    """Return the value that a ``share`` of values, more than none, lies below."""
    return cast(Numbers, special.stdtrit(df, share))


def upper_quantile(share: Numbers, df: Numbers) -> Numbers:
    """Return the value that a ``share`` of values, more than none, lies above."""
    return cast(Numbers, np.negative(special.stdtrit(df, share)))
