"""Configurations that a study compares: a page's part of each study, made of the rounds that are kept next to the page.

A comparison names each round by its condition (what happens to the service) and its configuration (what someone does
about it). It shows responses of all of them, and holds claims against intervals by the rule of all claims. A page of
comparisons is a YAML file with the page's name. It begins with its main claims: in short, and in a figure. Other pages
ask single questions, each a comparison of a study in its whole or its quick form.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from pydantic import TypeAdapter

from patternbench.analyze.statements.claims.claim import Claim, Level
from patternbench.analyze.statements.claims.pairs import pairs_of, same_level
from patternbench.observe.section import Spec
from patternbench.plan.scenarios import Scenario
from patternbench.report.labels import RESPONSES
from patternbench.study.claims import DeclaredClaim
from patternbench.terms.quantities import number
from reproductions import claimed, drawing
from reproductions.claimed import HeldClaim
from reproductions.markdown import spread, table, warned
from reproductions.pages import QUICK, Page, Parts, Reader, Tables, measure_first, plan_of, rounds_as, written

Words = Sequence[Mapping[str, Level]]
"""What scenarios are called: by the first entry whose levels they have, under ``is``; {factor} stands for a level."""
IS = "is"
SHORT, FIGURE = "short", "figure.svg"
"""The part that a page begins with, and the file of its figure, in the page's folder."""
CATALOGUED = "claims"
"""The part of pages of the catalogue in which main claims stand."""
CAPTION = "Bars are medians over rounds, dots are rounds. The claim compares the orange bar with the blue one."
FOLDER = "compared"
"""Where the pages of comparisons are."""
FROM_A_REPRODUCTION, FROM_A_PAGE = "../../studies", "../studies"
"""Where the studies are from the pages on published works, and from other pages."""
RECOVERY_TIME, RECOVERED = "recovery_time", "recovered"
"""A time that is known only of rounds that recovered, and what says whether one did."""
_FEWEST = 2
"""The rounds from which on it is known that they do not vary."""
_BAR = 24


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

    def held(self, study: str, rounds: pd.DataFrame) -> HeldClaim:
        """Return it with the changes that rounds show; all its intervals hold together."""
        (found,) = claimed.Measured(claimed.planned(study), rounds).hold([self.claim])
        if not self.counted or rounds["block"].nunique() < _FEWEST:
            return found
        exact = (replace(one, low=one.value, high=one.value, firm=None) for one in found.changes)
        both = zip(found.changes, exact, strict=True)
        return replace(found, changes=tuple(one if np.isfinite(one.low) else known for one, known in both))


@dataclass(frozen=True)
class Comparison:
    """What a page shows of a study: the mark of its part, and the columns by which its rounds are distinguished.

    ``main`` numbers the claims that the page begins with; ``title`` is what the figure calls the study where the page
    has several, ``condition_is`` the head of the column of conditions. ``counted`` are claims before those of the
    study, on what is counted exactly: it never varies from round to round, so that few rounds show it. ``catalogue`` is
    the page of the catalogue that shows the main claims too.
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
    catalogue: str = ""

    @property
    def columns(self) -> list[str]:
        """What is kept of a round."""
        responses = [*(one.column for one in self.shown), *(one.claim.response for one in self.compared)]
        ended = [RECOVERED] if RECOVERY_TIME in responses else []
        return list(dict.fromkeys(["block", "scenario", "strategy", *self.factors, *responses, *ended, "warnings"]))

    @cached_property
    def names(self) -> dict[str, tuple[str, str]]:
        """The condition and the configuration of each scenario of the study."""
        words = (self.condition, self.configuration)
        return {one.id: (_called(words[0], one), _called(words[1], one)) for one in plan_of(self.study).scenarios}

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
        return rounds.assign(**reported).sort_values([*(one for one in self.factors if one in rounds), "strategy"])

    def response(self, one: Compared) -> Shown:
        """How the response of a claim is shown."""
        return next(shown for shown in self.shown if shown.column == one.claim.response)


def read(file: str) -> dict[str, Comparison]:
    """Return the comparisons of a file of this package, by the names of their studies."""
    stated = written(file, dict[str, dict[str, object]])
    given = {study: {"study": study, "mark": "", **one} for study, one in stated.items()}
    return TypeAdapter(dict[str, Comparison]).validate_python(given)


def form_of(comparison: Comparison, rounds: pd.DataFrame) -> Comparison:
    """Return the comparison of the form of its study, whole or quick, that has the scenarios of the rounds."""
    forms = (comparison.study, f"{comparison.study}{QUICK}")
    return replace(comparison, study=claimed.study_of(rounds, forms))


def forms_of(comparisons: Mapping[str, Comparison], measured: Tables) -> dict[str, Comparison]:
    """Return each comparison of the form of its study that was measured, if one was."""
    return {study: form_of(one, measured[study]) if study in measured else one for study, one in comparisons.items()}


def _called(words: Words, scenario: Scenario) -> str:
    at = scenario.levels
    entry = next(one for one in words if all(same_level(at.get(n), level) for n, level in one.items() if n != IS))
    return re.sub(r"{(.+?)}", lambda name: _text(scenario, name[1]), str(entry[IS]))


def _text(scenario: Scenario, factor: str) -> str:
    """Return the level of a factor, or, where a form of its study does not vary that, what the scenario has there."""
    level = scenario.levels[factor] if factor in scenario.levels else _found(scenario.configuration, factor.split("."))
    return f"{level:g}" if isinstance(level, int | float) else str(level)


def _found(part: object, path: Sequence[str]) -> object:
    """Return what lies at a path below any part of a configuration, or nothing."""
    if not isinstance(part, Mapping):
        return None
    here: object = part
    for key in path:
        here = here.get(key) if isinstance(here, Mapping) else None
    below = (_found(one, path) for one in part.values())
    return here if here is not None else next((one for one in below if one is not None), None)


def _scaled(claim: Claim) -> Claim:
    """Return a claim whose change is one of a ratio, but of shares and of rates, which may be zero."""
    kind = RESPONSES[claim.response].kind if claim.response in RESPONSES else ""
    return claim if claim.relative is not None else replace(claim, relative=kind not in ("percent", "rate"))


def page(name: str, file: str = "") -> Page:
    """Return the page below ``docs`` whose comparisons a file has, by default that of its name."""
    stated = read(file or f"{FOLDER}/{name}.yaml")
    shown_on = dict.fromkeys(one.catalogue for one in stated.values() if one.catalogue)

    def parts(measured: Tables) -> Parts:
        forms = forms_of(stated, measured)
        own = {one.mark: part(one, measured.get(study)) for study, one in forms.items()}
        pages = {shown: {study: one for study, one in forms.items() if one.catalogue == shown} for shown in shown_on}
        shown = {f"patterns/{page}": {CATALOGUED: main_table(measured, of_it)} for page, of_it in pages.items()}
        return {f"{name}.md": {SHORT: in_short(name, measured, forms), **own}, **shown}

    def figures(measured: Tables) -> Mapping[str, str]:
        return {FIGURE: drawn(measured, forms_of(stated, measured))} if measured else {}

    return Page(f"{name}.md", readers(stated), parts, figures)


def in_short(folder: str, measured: Tables, comparisons: Mapping[str, Comparison]) -> str:
    """Return the main claims with numbers and verdicts, and their figure in the page's folder."""
    if not measured:
        return "Not measured yet."
    lacking = [f"`{study}`" for study in comparisons if study not in measured]
    rest = [f"Not measured yet: {', '.join(lacking)}."] if lacking else []
    reported = main_table(measured, comparisons)
    return "\n\n".join([reported, *rest, f"![{CAPTION}]({folder}/{FIGURE})", f"*{CAPTION}*"])


def main_table(measured: Tables, comparisons: Mapping[str, Comparison]) -> str:
    """Return the main claims of what was measured, as a table."""
    rows = [row for study, one in comparisons.items() if study in measured for row in main_rows(one, measured[study])]
    return table(["claim", "response", "from", "to", "verdict"], rows)


def main_rows(comparison: Comparison, rounds: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row for each main claim: the medians of both configurations, and the verdict.

    The verdict *the same* has its margin with it, without which it would say more than it holds.
    """
    for one in (comparison.compared[place] for place in comparison.main):
        shown, held = comparison.response(one), one.held(comparison.study, rounds)
        sides = zip(one.pairs[0], (one.first, one.second), strict=True)
        medians = (_median(rounds, shown, scenario, name) for scenario, name in sides)
        verdict = f"{held.expected.words}: {held.verdict}" if held.expected.is_margin else held.verdict
        yield [one.claim.says, shown.title, *medians, verdict]


def _median(rounds: pd.DataFrame, shown: Shown, scenario: str, configuration: str) -> str:
    middle = rounds.loc[rounds["scenario"] == scenario, shown.column].median() * shown.factor
    return f"{number(middle) if np.isfinite(middle) else 'none'} ({configuration})"


def drawn(measured: Tables, comparisons: Mapping[str, Comparison]) -> str:
    """Return the figure of the main claims of what was measured, as SVG."""
    there = [(one, measured[study]) for study, one in comparisons.items() if study in measured]
    panels = [_panel(one, rounds, one.compared[place]) for one, rounds in there for place in one.main]
    return drawing.in_rows(panels, columns=2)


def _panel(comparison: Comparison, rounds: pd.DataFrame, one: Compared) -> Spec:
    """Return what is drawn of a claim: the rounds of all configurations under its condition."""
    named = comparison.named(rounds)
    there, shown = named[named["condition"] == one.condition], comparison.response(one)
    sides = there["configuration"].map({one.first: "from", one.second: "to"}).fillna("aside")
    points = pd.DataFrame({"configuration": there["configuration"], "value": there[shown.column] * shown.factor})
    points = points.assign(side=sides).round(3)
    medians = points.groupby(["configuration", "side"], sort=False, as_index=False)[["value"]].median().round(3)
    names, title = list(dict.fromkeys(points["configuration"])), [*filter(None, (comparison.title, one.condition))]
    words = {"names": names, "response": shown.title, "height": _BAR * len(names), "title": {"text": title}}
    return drawing.panel("compared", {"points": points, "medians": medians}, **words)


def part(comparison: Comparison, rounds: pd.DataFrame | None) -> str:
    """Return what a study measured, and what became of its claims."""
    if rounds is None:
        return measure_first(comparison.study)
    return "\n\n".join([configurations(comparison, rounds), claims(comparison, rounds), warned(rounds)])


def configurations(comparison: Comparison, rounds: pd.DataFrame) -> str:
    """Return a row for each condition and configuration, with the responses that are shown."""
    named = comparison.named(rounds)
    groups = named.groupby(["condition", "configuration"], sort=False)
    rows = ([*key, *(_cell(one, group) for one in comparison.shown)] for key, group in groups)
    return table([comparison.condition_is, "configuration", *(one.title for one in comparison.shown)], rows)


def _cell(one: Shown, rounds: pd.DataFrame) -> str:
    """Return a response of a configuration; a round that did not recover was seen no longer than to its horizon."""
    lost = rounds[rounds[RECOVERED] == 0] if one.column == RECOVERY_TIME else rounds[:0]
    return spread(rounds[one.column], one.factor, np.inf if lost.empty else float(lost[one.column].min()))


def claims(comparison: Comparison, rounds: pd.DataFrame) -> str:
    """Return a row for each claim, which has one change: what it says, the change with its interval, the verdict."""
    every = (one.held(comparison.study, rounds) for one in comparison.compared)
    return claimed.verdict_table(every, "claim", intervals=False)


# --- single questions


def answers(questions: Mapping[str, Comparison], measured: Tables, studies: str = FROM_A_REPRODUCTION) -> str:
    """Return each question with its tables and claims, or how to measure it; ``studies`` are there from the page."""
    asked = {one.title: answer(one, measured.get(study), studies) for study, one in questions.items()}
    return "\n\n".join(f"### {title}\n\n{text}" for title, text in asked.items())


def answer(one: Comparison, rows: pd.DataFrame | None, studies: str = FROM_A_REPRODUCTION) -> str:
    """Return the tables and claims of a question, or how to measure it."""
    if rows is None:
        return measure_first(one.study)
    shown = replace(one, study=str(rows["study"].iloc[0]))
    measured = configurations(shown, rows) if one.shown else ""
    parts = [measured_with(rows, studies), measured, verdicts(shown, rows), warned(rows)]
    return "\n\n".join(filter(None, parts))


def measured_with(rows: pd.DataFrame, studies: str = FROM_A_REPRODUCTION) -> str:
    """Return the study that these rounds are of, which may be a quick form, and how many blocks of it there are."""
    study = str(rows["study"].iloc[0])
    file = f"{studies}/{study.removesuffix(QUICK)}.yaml"
    return f"Measured with [{study}]({file}); blocks: {rows['block'].nunique()}."


def verdicts(one: Comparison, rows: pd.DataFrame) -> str:
    """Return the claims on a study, of which there may be none; first those that stand with the question."""
    every = [*(claimed.parsed(claim, one.study) for claim in one.counted), *claimed.claims(one.study)]
    held = claimed.Measured(claimed.planned(one.study), rows).hold(every)
    return claimed.verdict_table(held, "claim") if every else ""


def readers(asked: Mapping[str, Comparison]) -> dict[str, Reader]:
    """Return how the rounds of each study are read: the responses that its comparison shows."""
    return {study: rounds_as(study, one.columns) for study, one in asked.items()}
