"""Draws what each client's patterns change against its baseline, with the longest delay."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, LevelSets
from patternbench.analyze.statements.claims.judged import judge_claims
from patternbench.analyze.statements.verdict import LOWER
from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec
from patternbench.terms.units import Duration
from reproductions.aderaldo_2024.tables import RESPONSES
from reproductions.aderaldo_2024.verdicts import plan_of

NAME = "changes"
TITLES = dict(zip(RESPONSES, ("average success time", "total execution time"), strict=True))
REFERENCE, FAULT = "native", "abort.percentage"
PATTERNS = {"retry": "retry.backoff.exponential.initial", "circuit_breaker": "circuit_breaker.open_for"}
"""Each pattern with the factor that is its delay."""
_WIDTH, _ROW = 230, 11


def drawn(rounds: pd.DataFrame) -> str:
    """Return a panel per response and share of faults, two in a row, as SVG."""
    panels = pd.DataFrame(changes(rounds)).groupby(["what", "fault"], sort=False)
    drawings = (_panel(points, f"{what}, {fault} % faults") for (what, fault), points in panels)
    return svg.draw(spec(alt.concat(*drawings, columns=2)))


def changes(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Return every client's change with every pattern and share of faults, at the users that all had.

    The intervals of a panel hold together.
    """
    plan = plan_of(rounds)
    levels = pd.DataFrame(list(plan.values()))
    users = tuple(set.intersection(*(set(of_it) for _, of_it in levels.groupby("client")["users"])))
    for response, what in TITLES.items():
        for fault in sorted(set(levels[FAULT]) - {0}):
            where = {FAULT: (fault,), "users": users}
            claims = [_against_baseline(response, pattern, levels[delay], where) for pattern, delay in PATTERNS.items()]
            reported = [
                (one.claim, change) for one in judge_claims(claims, plan, rounds, {}).claims for change in one.changes
            ]
            for claim, change in sorted(reported, key=lambda one: _place(str(one[1].where["client"]))):
                pattern = str(claim.end["strategy"][0]).replace("_", " ")
                names = {"what": what, "fault": fault, "client": change.where["client"], "pattern": pattern}
                yield {**names, "change": change.value, "low": change.low, "high": change.high}


def _place(client: str) -> tuple[bool, str]:
    return client != REFERENCE, client


def _against_baseline(response: str, pattern: str, delays: pd.Series, where: LevelSets) -> Claim:
    longest = max(delays.dropna(), key=lambda text: Duration.parse(text).seconds)
    end = {"strategy": (pattern,), PATTERNS[pattern]: (longest,)}
    return Claim("", response, LOWER, True, {"strategy": ("baseline",)}, end, where, over=("users",))


def _panel(points: pd.DataFrame, title: str) -> alt.LayerChart:
    reported = points.drop(columns=["what", "fault"]).round(1)
    names = list(dict.fromkeys(reported["client"]))
    patterns = [name.replace("_", " ") for name in PATTERNS]
    hue = alt.Color("pattern:N", sort=patterns, title=None, scale=alt.Scale(domain=patterns, range=COLOURS[:2]))
    y = alt.Y("client:N", sort=names, title=None)
    base = alt.Chart(reported).encode(y=y, yOffset=alt.YOffset("pattern:N", sort=patterns), color=hue)
    spans = base.mark_rule(strokeWidth=2).encode(x=alt.X("low:Q", title="change against the baseline, %"), x2="high:Q")
    dots = base.mark_point(filled=True, size=40).encode(x="change:Q")
    zero = alt.Chart(pd.DataFrame({"x": [0]})).mark_rule(color="#888").encode(x="x:Q")
    chart: alt.LayerChart = (zero + spans + dots).properties(width=_WIDTH, height=_ROW * 2 * len(names), title=title)
    return chart
