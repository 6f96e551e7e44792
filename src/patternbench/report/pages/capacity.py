"""The page on a search for capacity: the rate that a service takes, with its interval, and every rate tried."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from patternbench.analyze.load.rate_search import Capacity, RateObjective, RateStep
from patternbench.observe.section import Figure, Section, Table
from patternbench.report.charts import spec
from patternbench.report.figures.capacity_figure import figure
from patternbench.report.page import page_html

_WIDTH, _HEIGHT = 350, 250
_CAPTION = (
    "A point is a round. The line is the answer, the band its interval; below the dashed line few enough calls missed "
    "the objective."
)


def capacity_html(
    subject: str,
    answers: Sequence[str],
    rates: pd.DataFrame,
    *,
    steps: Sequence[RateStep],
    found: Capacity,
    objective: RateObjective,
    warnings: Sequence[str] = (),
    about: Sequence[str] = (),
) -> str:
    """Return a self-contained page: the ``answers`` in sentences, the ``rates`` that were tried, ``warnings``."""
    drawn = spec(figure(steps, found, objective).properties(width=_WIDTH, height=_HEIGHT, title=""))
    section = Section(
        "answer",
        "What rate it can take",
        tables=[Table("Every rate", rates)],
        figures=[Figure(objective.text, drawn, _CAPTION)],
        answers=answers,
        look="better" if found.low is not None else "open",
        warnings=warnings,
    )
    return page_html(f"Capacity of {subject}", [section], about)
