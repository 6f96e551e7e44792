"""Draws what each client's patterns change against its baseline, with the longest delay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import altair as alt
import pandas as pd

from patternbench.analyze.statements.claims.claim import Claim, LevelSets
from patternbench.analyze.statements.claims.judged import LEVEL, count_of_intervals
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import LOWER
from patternbench.report import svg
from patternbench.report.pages.model_figures import COLOURS, spec
from patternbench.terms.units import Duration
from reproductions.aderaldo_2024.tables import RESPONSES
from reproductions.aderaldo_2024.verdicts import plan_of
from reproductions.claimed import Plan, changes_by
from reproductions.contrasts import Contrast

NAME = "changes"
TITLES = dict(zip(RESPONSES, ("average success time", "total execution time"), strict=True))
REFERENCE, FAULT = "native", "abort.percentage"
PATTERNS = {"retry": "retry.backoff.exponential.initial", "circuit_breaker": "circuit_breaker.open_for"}
"""Each pattern with the factor that is its delay."""
COLUMNS = ("what", "fault", "client", "pattern", "change", "low", "high")
_WIDTH, _ROW = 230, 11


def drawn(rounds: pd.DataFrame) -> str:
    """Return a panel per response and share of faults, two in a row, as SVG; none where no pattern has a baseline."""
    panels = pd.DataFrame(changes(rounds), columns=list(COLUMNS)).groupby(["what", "fault"], sort=False)
    drawings = (_panel(points, f"{what}, {fault} % faults") for (what, fault), points in panels)
    return svg.draw(spec(alt.concat(*drawings, columns=2)))


def changes(rounds: pd.DataFrame) -> Iterator[dict[str, object]]:
    """Return every client's change with every pattern and share of faults, at the users that all had.

    The intervals of a panel hold together.
    """
    plan = plan_of(rounds)
    levels = pd.DataFrame(list(plan.values()))
    users = tuple(set.intersection(*(set(of_it) for _, of_it in levels.groupby("client")["users"])))
    patterns = _patterns_of(levels)
    for response, what in TITLES.items():
        for fault in sorted(set(levels[FAULT]) - {0}):
            where = {FAULT: (fault,), "users": users}
            claims = {pattern: _against_baseline(response, pattern, levels, where) for pattern in patterns}
            for client, pattern, change in _by_client(claims, plan, rounds):
                row = what, fault, client, pattern.replace("_", " "), change.value, change.low, change.high
                yield dict(zip(COLUMNS, row, strict=True))


def _by_client(claims: Mapping[str, Claim], plan: Plan, rounds: pd.DataFrame) -> Iterator[tuple[str, str, Contrast]]:
    """Yield each change of a panel with its client and its pattern, the reference's first."""
    each = together(LEVEL, count_of_intervals(list(claims.values()), list(plan.values())))
    found = [
        (str(client), pattern, change)
        for pattern, claim in claims.items()
        for (client,), change in changes_by(("client",), claim, plan, rounds, each).items()
    ]
    yield from sorted(found, key=lambda one: _place(one[0]))


def _place(client: str) -> tuple[bool, str]:
    return client != REFERENCE, client


def _patterns_of(levels: pd.DataFrame) -> list[str]:
    """Return the patterns that scenarios have, and so the levels of their delays."""
    return [pattern for pattern, delay in PATTERNS.items() if delay in levels and levels[delay].notna().any()]


def _against_baseline(response: str, pattern: str, levels: pd.DataFrame, where: LevelSets) -> Claim:
    longest = max(levels[PATTERNS[pattern]].dropna(), key=lambda text: Duration.parse(text).seconds)
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
