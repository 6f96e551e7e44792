"""Configurations that a study compares: a page's part of each study, made of the rounds that are kept next to the page.

A comparison names each round by its condition (what happens to the service) and its configuration (what someone does
about it). It shows responses of all of them, and holds claims against intervals by the rule of all claims. The page
begins with its main claims: in short, and in a figure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from patternbench.analyze.statements.claims.claim import Claim, Level, Levels
from patternbench.analyze.statements.claims.pairs import pairs_of, same_level
from patternbench.report.labels import RESPONSES
from patternbench.study.claims import DeclaredClaim
from reproductions import claimed, comparison_figures
from reproductions.claimed import HeldClaim
from reproductions.comparison_figures import ASIDE, FROM, TO, Panel
from reproductions.contrasts import SAME, ends, verdict
from reproductions.markdown import short, table, warned
from reproductions.pages import QUICK, Page, Parts, Tables, not_measured, rounds_as, written

Words = Sequence[Mapping[str, Level]]
"""What scenarios are called: by the first entry whose levels they have, under ``is``; {factor} stands for a level."""
IS = "is"
SHORT, FIGURE = "short", "figure.svg"
"""The part that a page begins with, and the file of its figure, in the page's folder."""
CATALOGUED = "claims"
"""The part of pages of the catalogue in which main claims stand."""
CAPTION = "Bars are medians over rounds, dots are rounds. The claim compares the orange bar with the blue one."
_FEWEST = 2
"""The rounds from which on it is known that they do not vary."""


@dataclass(frozen=True)
class Shown:
    """A response that a table shows: its column, what it is called there, and what it is multiplied by for that."""

    column: str
    title: str
    factor: float = 1.0


@dataclass(frozen=True)
class Compared:
    """A claim of a study: the pairs of scenarios that it is about, and how the first pair's are called.

    Where it is about what is ``counted`` exactly, rounds that never vary show it.
    """

    claim: Claim
    pairs: Sequence[tuple[str, str]]
    condition: str
    first: str
    second: str
    counted: bool = False

    @property
    def column(self) -> str:
        """The response that it is about."""
        return self.claim.response

    @property
    def says(self) -> str:
        """The change that it expects, in a word."""
        return SAME if self.claim.expected.is_margin else self.claim.expected.words

    def held(self, study: str, rounds: pd.DataFrame) -> HeldClaim:
        """Return it with the changes that rounds show; all its intervals hold together."""
        (found,) = claimed.hold([self.claim], claimed.planned(study), rounds)
        if not self.counted or rounds["block"].nunique() < _FEWEST:
            return found
        return replace(found, changes=tuple(one if np.isfinite(one.low) else one.exact for one in found.changes))


@dataclass(frozen=True)
class Comparison:
    """What a page shows of a study: the mark of its part, and the columns by which its rounds are distinguished.

    ``main`` numbers the claims that the page begins with; ``title`` is what the figure calls the study where the page
    has several, ``condition_is`` the head of the column of conditions. ``counted`` are claims before those of the
    study, on what is counted exactly: it never varies from round to round, so that few rounds show it.
    """

    study: str
    mark: str
    factors: Sequence[str]
    condition: Words
    configuration: Words
    shown: Sequence[Shown]
    main: Sequence[int] = (0,)
    title: str = ""
    condition_is: str = "the service"
    counted: Sequence[DeclaredClaim] = ()

    @property
    def columns(self) -> list[str]:
        """What is kept of a round."""
        responses = [*(one.column for one in self.shown), *(one.column for one in self.compared)]
        return list(dict.fromkeys(["block", "scenario", "strategy", *self.factors, *responses, "warnings"]))

    @cached_property
    def names(self) -> dict[str, tuple[str, str]]:
        """The condition and the configuration of each scenario of the study."""
        plan = claimed.planned(self.study)
        return {name: (_called(self.condition, at), _called(self.configuration, at)) for name, at in plan.items()}

    @cached_property
    def compared(self) -> list[Compared]:
        """The claims, each on two scenarios."""
        counted = [self._compared(claimed.parsed(one, self.study), counted=True) for one in self.counted]
        return [*counted, *(self._compared(one) for one in claimed.claims(self.study))]

    def _compared(self, claim: Claim, counted: bool = False) -> Compared:
        ids, levels = list(claimed.planned(self.study)), list(claimed.planned(self.study).values())
        pairs = [(ids[a], ids[b]) for a, b in pairs_of(claim, levels)]
        (condition, first), (_, second) = (self.names[scenario] for scenario in pairs[0])
        return Compared(_scaled(claim), pairs, condition, first, second, counted)

    def named(self, rounds: pd.DataFrame) -> pd.DataFrame:
        """Return the rounds with their condition and their configuration, in the order of the study's levels."""
        names = zip(*(self.names[scenario] for scenario in rounds["scenario"]), strict=True)
        reported = dict(zip(("condition", "configuration"), map(list, names), strict=True))
        return rounds.assign(**reported).sort_values([*self.factors, "strategy"])

    def response(self, one: Compared) -> Shown:
        """How the response of a claim is shown."""
        return next(shown for shown in self.shown if shown.column == one.column)


def read(file: str) -> dict[str, Comparison]:
    """Return the comparisons of a file of this package, by the names of their studies."""
    stated = TypeAdapter(dict[str, dict[str, object]]).validate_python(written(file))
    given = {study: {"study": study, "mark": "", **one} for study, one in stated.items()}
    return TypeAdapter(dict[str, Comparison]).validate_python(given)


def form_of(comparison: Comparison, rounds: pd.DataFrame) -> Comparison:
    """Return the comparison of the form of its study, whole or quick, that has the scenarios of the rounds."""
    forms = (comparison.study, f"{comparison.study}{QUICK}")
    scenarios = {*rounds["scenario"]}
    return replace(comparison, study=next(form for form in forms if scenarios <= claimed.planned(form).keys()))


def _called(words: Words, levels: Levels) -> str:
    entry = next(one for one in words if all(same_level(levels.get(n), level) for n, level in one.items() if n != IS))
    return re.sub(r"{(.+?)}", lambda name: _told_level(levels[name[1]]), str(entry[IS]))


def _told_level(level: Level) -> str:
    return f"{level:g}" if isinstance(level, int | float) else str(level)


def _scaled(claim: Claim) -> Claim:
    """Return a claim whose change is one of a ratio, but of shares and of rates, which may be zero."""
    kind = RESPONSES[claim.response].kind if claim.response in RESPONSES else ""
    return claim if claim.relative is not None else replace(claim, relative=kind not in ("percent", "rate"))


def page(file: str, comparisons: Mapping[str, Comparison], patterns: Mapping[str, Sequence[str]]) -> Page:
    """Return a page on studies; ``patterns`` says of which of them pages of the catalogue show the main claims."""
    folder = file.removesuffix(".md")

    def parts(measured: Tables) -> Parts:
        shown = catalogued(measured, comparisons, patterns)
        catalogue = {f"patterns/{name}": {CATALOGUED: text} for name, text in shown.items()}
        return {file: printed(folder, measured, comparisons), **catalogue}

    readers = {study: rounds_as(study, one.columns) for study, one in comparisons.items()}
    return Page(file, readers, parts, lambda measured: {FIGURE: drawn(measured, comparisons)} if measured else {})


def printed(folder: str, measured: Mapping[str, pd.DataFrame], comparisons: Mapping[str, Comparison]) -> dict[str, str]:
    """Return the parts of a page with a folder, by the names of their marks; what was not measured says how to."""
    parts = {one.mark: part(one, measured.get(study)) for study, one in comparisons.items()}
    return {SHORT: in_short(folder, measured, comparisons), **parts}


def in_short(folder: str, measured: Mapping[str, pd.DataFrame], comparisons: Mapping[str, Comparison]) -> str:
    """Return the main claims with numbers and verdicts, and draw them into the page's folder."""
    if not measured:
        return "Not measured yet."
    lacking = [f"`{study}`" for study in comparisons if study not in measured]
    rest = [f"Not measured yet: {', '.join(lacking)}."] if lacking else []
    reported = main_table(measured, comparisons)
    return "\n\n".join([reported, *rest, f"![{CAPTION}]({folder}/{FIGURE})", f"*{CAPTION}*"])


def catalogued(
    measured: Mapping[str, pd.DataFrame], comparisons: Mapping[str, Comparison], patterns: Mapping[str, Sequence[str]]
) -> dict[str, str]:
    """Return what each page of the catalogue shows: the main claims of its studies, as far as they were measured."""
    shown = {page: {study: comparisons[study] for study in studies} for page, studies in patterns.items()}
    return {page: main_table(measured, chosen) for page, chosen in shown.items()}


def main_table(measured: Mapping[str, pd.DataFrame], comparisons: Mapping[str, Comparison]) -> str:
    """Return the main claims of what was measured, as a table."""
    rows = [row for study, one in comparisons.items() if study in measured for row in main_rows(one, measured[study])]
    return table(["claim", "response", "from", "to", "verdict"], rows)


def main_rows(comparison: Comparison, rounds: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row for each main claim: the medians of both configurations, and the verdict."""
    for number in comparison.main:
        one = comparison.compared[number]
        shown = comparison.response(one)
        sides = zip(one.pairs[0], (one.first, one.second), strict=True)
        medians = (_median(rounds, shown, scenario, name) for scenario, name in sides)
        yield [one.claim.says, shown.title, *medians, _reported(one.held(comparison.study, rounds))]


def _reported(one: HeldClaim) -> str:
    """Return the verdict on a claim; of *the same*, with its margin, without which it would say more than it holds."""
    word = verdict(one.expected, one.changes)
    return f"{one.expected.words}: {word}" if one.expected.is_margin else word


def _median(rounds: pd.DataFrame, shown: Shown, scenario: str, configuration: str) -> str:
    middle = rounds.loc[rounds["scenario"] == scenario, shown.column].median() * shown.factor
    return f"{short(middle) if np.isfinite(middle) else 'none'} ({configuration})"


def drawn(measured: Mapping[str, pd.DataFrame], comparisons: Mapping[str, Comparison]) -> str:
    """Return the figure of the main claims of what was measured, as SVG."""
    panels = (
        panel(one, measured[study], one.compared[number])
        for study, one in comparisons.items()
        if study in measured
        for number in one.main
    )
    return comparison_figures.drawn(list(panels))


def panel(comparison: Comparison, rounds: pd.DataFrame, one: Compared) -> Panel:
    """Return what is drawn of a claim: the rounds of all configurations under its condition."""
    named = comparison.named(rounds)
    there, shown = named[named["condition"] == one.condition], comparison.response(one)
    sides = {one.first: FROM, one.second: TO}
    points = pd.DataFrame(
        {
            "configuration": there["configuration"],
            "value": there[shown.column] * shown.factor,
            "side": [sides.get(name, ASIDE) for name in there["configuration"]],
        }
    )
    return Panel(comparison.title, one.condition, shown.title, points)


def part(comparison: Comparison, rounds: pd.DataFrame | None) -> str:
    """Return what a study measured, and what became of its claims."""
    if rounds is None:
        return not_measured(comparison.study)
    return "\n\n".join([configurations(comparison, rounds), claims(comparison, rounds), warned(rounds)])


def configurations(comparison: Comparison, rounds: pd.DataFrame) -> str:
    """Return a row for each condition and configuration, with the responses that are shown."""
    named = comparison.named(rounds)
    groups = named.groupby(["condition", "configuration"], sort=False)
    rows = ([*key, *(span(group[one.column], one) for one in comparison.shown)] for key, group in groups)
    return table([comparison.condition_is, "configuration", *(one.title for one in comparison.shown)], rows)


def span(values: pd.Series, shown: Shown) -> str:
    """Return the median of a response over rounds, with the least and the greatest."""
    reported = (short(number * shown.factor) for number in (values.median(), values.min(), values.max()))
    return "{} ({} to {})".format(*reported) if values.notna().any() else "none"


def claims(comparison: Comparison, rounds: pd.DataFrame) -> str:
    """Return a row for each claim: what it says, the change with its interval, and the verdict."""
    every = (one.held(comparison.study, rounds) for one in comparison.compared)
    rows = ([one.says, one.expected.words, ends(one.changes), verdict(one.expected, one.changes)] for one in every)
    return table(["claim", "says the change is", "change", "verdict"], rows)
