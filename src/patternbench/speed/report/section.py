"""The report's section on the machine's speed: how even it was, and over the rounds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from patternbench.analyze.covariates import is_moved, moved_by_scenarios
from patternbench.observe.section import Figure, Section, Spec
from patternbench.report.charts import alt, spec
from patternbench.report.model import counting
from patternbench.speed.responses import PROBE_TIME
from patternbench.terms.quantities import number

WORDS = (
    "A probe repeated the same small piece of work before and after the load of each round. If it took longer, every "
    "program on these CPUs was slower: for instance because of a neighbour on the other thread of the core, or of "
    "another clock frequency. Formulas take `probe_time` as a covariate. Such a model prints each change without it as "
    "well, the shift between both, and how far off a change would be if a configuration moved the probe by 2 %."
)
MOVED = (
    "The probe's time depends on the scenario (p {p}), so it isn't the machine's speed alone: don't use `probe_time` "
    "as a covariate in this run. It would take away a part of what configurations do."
)
UNMOVED = (
    "A test that the probe's time is the same for all scenarios doesn't speak against it (p {p}, F test within "
    "blocks). Few blocks find only large shifts."
)
SPREAD = (
    "Compared with the fastest tenth of the rounds, the work took {middle} times as long in the middle round and "
    "{most} times as long in the slowest."
)
WIDTH, HEIGHT = 620, 160


def sections(run: Path, rounds: pd.DataFrame) -> list[Section]:
    """Return the section, if a round that counts was probed; else nothing."""
    if PROBE_TIME not in rounds:
        return []
    probed = counting(rounds).dropna(subset=[PROBE_TIME])
    if probed.empty:
        return []
    slower = probed[PROBE_TIME] / probed[PROBE_TIME].quantile(0.1)
    spread = SPREAD.format(middle=number(slower.median()), most=number(slower.max()))
    caption = "Each point is a round that counts. 1 is the fastest tenth of them."
    p = moved_by_scenarios(probed, PROBE_TIME)
    test = [] if np.isnan(p) else [(MOVED if is_moved(p) else UNMOVED).format(p=number(p))]
    figure = Figure("Time of the same work, by round", _over_rounds(probed["round"], slower), caption)
    return [Section("speed", "Speed of the machine", [spread, *test, WORDS], figures=[figure])]


def _over_rounds(order: pd.Series, slower: pd.Series) -> Spec:
    rows = pd.DataFrame({"round": order, "slower": slower.round(3)})
    whole, apart = alt.Axis(tickMinStep=1, format="d"), alt.Scale(zero=False, padding=8)
    x = alt.X("round:Q", title="round, in the order in which they ran", scale=apart, axis=whole)
    y = alt.Y("slower:Q", title="times as long", scale=apart)
    chart = alt.Chart(rows).mark_circle(size=30, opacity=0.7).encode(x=x, y=y, tooltip=["round:Q", "slower:Q"])
    return spec(chart.properties(width=WIDTH, height=HEIGHT))
