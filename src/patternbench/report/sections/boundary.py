"""The section on the boundary that a study searches: the margin first, then the table, the curves, the comparison."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from patternbench.analyze.boundary.comparison import HIGHER, LOWER, Ratio, ratio
from patternbench.analyze.boundary.likelihood import FEW, HALF
from patternbench.analyze.boundary.search import Bound
from patternbench.analyze.boundary.words import FOUND, Wording, boundary_in_words, is_told, safe_in_words
from patternbench.analyze.statements.verdict import Conclusion, Verdict
from patternbench.observe.section import Figure, Section, Table
from patternbench.plan.factors import Factor, Factors, Level
from patternbench.report.boundaries import Margins, SearchedBoundary, margins, named
from patternbench.report.figures import boundary as figure
from patternbench.report.held_rounds import condition, having
from patternbench.report.labels import factor_title, level_with_unit
from patternbench.report.model import RunReport
from patternbench.report.sections import capacity, predicted
from patternbench.study.boundary import Boundary, ClaimedBearing
from patternbench.study.models import Study
from patternbench.terms.doses import DoseUnit
from patternbench.terms.quantities import number
from patternbench.terms.roles import Role, Unit

ANCHOR, TITLE = "margin", "How far it is to the edge"
_RECOVERED = "recovered"
RATE = "rate"
"""The factor whose doses are calls per second."""
_BEARS: dict[str, str] = {Verdict.HIGHER: "bears more", Verdict.LOWER: "bears less"}
"""How a table calls the verdict on the dose of another configuration."""
_WORDS = (
    "Each configuration was tried at rising and falling doses until it was known where half of its rounds are lost: "
    "that is its boundary. The safe dose is the one at which 5 of 100 rounds are lost. Intervals are of 95 %. They "
    "come from a logistic curve (Firth's penalised likelihood), and hold the truth in 93 of 100 searches or more, "
    "also where the boundary moves while it is searched.",
)


def sections(report: RunReport, study: Study) -> list[Section]:
    """Return the section, where the study searches a boundary; none otherwise."""
    if study.boundary is None:
        return []
    found = margins_found(report, study, study.boundary)
    if not found.searched:
        return []
    words, axis = wording(found), _axis(found, report.factors)
    made = Section(
        ANCHOR,
        TITLE,
        [*_unchecked(report, study.boundary), _what(found), *_WORDS],
        [*expected(found), edges(found), *_by_level(axis, found, words), *compared(found)],
        [*_map(axis, found), _figure(found)],
        choice=["\n".join(_lead(report, margin_in_words(one, found, words)) for one in found.searched)],
        choice_title="The margin",
        choice_alone=True,
    )
    return [predicted.marked(made) if report.simulated else made]


def _unchecked(report: RunReport, boundary: Boundary) -> list[str]:
    """Return what keeps the boundaries of a simulated run from being relied on; nothing for a measured one."""
    return predicted.unchecked(report, [condition(boundary.of).response]) if report.simulated else []


def _lead(report: RunReport, sentence: str) -> str:
    """Return a sentence that may be read by itself, which says of a simulated run that it is one."""
    return f"{sentence.removesuffix('.')}, in simulated time." if report.simulated else sentence


@dataclass(frozen=True)
class MapAxis:
    """What a map has besides the dose: a factor, and of each configuration its panel, which leaves the factor out."""

    factor: Factor
    panels: Sequence[str]

    def level(self, one: SearchedBoundary) -> Level:
        """Return the level of a configuration."""
        return one.configuration.levels[self.factor.name]


def _axis(found: Margins, factors: Factors) -> MapAxis | None:
    """Return the axis of a map: the only number that varies besides the dose, or of several the only one of a fault."""
    every = [one.configuration.levels for one in found.searched]
    varied = [
        factor
        for name, factor in factors.items()
        if name != found.factor and factor.unit is not Unit.TEXT and _differs([one.get(name) for one in every])
    ]
    kept = [factor for factor in varied if factor.role is Role.FAULT] if len(varied) > 1 else varied
    if len(kept) != 1:
        return None
    (factor,) = kept
    rest = [{name: level for name, level in one.items() if name != factor.name} for one in every]
    return MapAxis(factor, named(rest, factors))


def _differs(levels: Sequence[Level]) -> bool:
    """Whether a factor applies everywhere, with several levels."""
    return None not in levels and len({repr(level) for level in levels}) > 1


def _by_level(axis: MapAxis | None, found: Margins, words: Wording) -> list[Table]:
    """Return the safe doses as a table with a column for each level of the map's other factor."""
    if axis is None:
        return []
    rows: dict[str, dict[str, str]] = {panel: {"configuration": panel} for panel in axis.panels}
    for panel, one in zip(axis.panels, found.searched, strict=True):
        rows[panel][level_with_unit(axis.factor, axis.level(one))] = safe_in_words(one.answer, words)
    title = f"Safe dose by {factor_title(axis.factor.name)}"
    note = f"Each cell is the {factor_title(found.factor)} at which 5 of 100 rounds are lost."
    return [Table(title, pd.DataFrame(list(rows.values())), note)]


def margins_found(report: RunReport, study: Study, boundary: Boundary) -> Margins:
    """Return what the rounds of a run say of the boundary that its study searches."""
    return margins(report.rounds, report, study, boundary, capacity.rate_of(report.manifest))


def margins_of_scenarios(report: RunReport, study: Study, ids: Collection[str]) -> list[str]:
    """Return the sentences on the margins of the configurations of these scenarios.

    None where none is searched, or where a model said so that was not right, or never checked.
    """
    if study.boundary is None or _unchecked(report, study.boundary):
        return []
    found = margins_found(report, study, study.boundary)
    mine = [one for one in found.searched if {*ids} & {*one.configuration.scenarios.values()}]
    return [_lead(report, margin_in_words(one, found, wording(found))) for one in mine]


def margin_of(sections: Sequence[Section]) -> list[str]:
    """Return the sentences on the margin that a report leads with; none where nothing was searched."""
    leads = [section.choice[0] for section in sections if section.anchor == ANCHOR and section.choice]
    return [sentence for lead in leads for sentence in lead.split("\n")]


def wording(found: Margins) -> Wording:
    """Return how doses and rounds of a search are called."""
    noun = "/s" if found.factor == RATE else ""
    verbs = ("recover", "do not recover", "none recovers") if found.boundary.of.strip() == _RECOVERED else ()
    return Wording(lambda dose: found.boundary.unit.written(dose, noun), *verbs)


def _what(found: Margins) -> str:
    rule = f"a round is held if `{found.boundary.of}`"
    if found.boundary.of.strip() == _RECOVERED:
        rule = "a round is held if its calls were as before the fault again when its load ended"
    first, last = (found.boundary.unit.written(dose) for dose in (found.boundary.low, found.boundary.high))
    return f"The dose is {factor_title(found.factor)}, from {first} to {last}; {rule}."


def margin_in_words(one: SearchedBoundary, found: Margins, words: Wording) -> str:
    """Say how far a configuration is from its edge, and where that is."""
    said = one.answer
    if said.boundary is None:
        return f"{one.name}: the boundary was {boundary_in_words(said, words)}."
    half = f"half of the rounds {words.lost} at {boundary_in_words(said, words)}"
    located = said.safe is not None and is_told(said.safe, said)
    safe = f"95 of 100 {words.held} up to {safe_in_words(said, words)}" if located else "the safe dose was not located"
    return f"{one.name}: {_distance(said.boundary, found, words)}{half}; {safe}."


def _distance(boundary: Bound, found: Margins, words: Wording) -> str:
    """Say how far today's dose is below the boundary, or that it is beyond it."""
    if found.today is None:
        return ""
    at = words.dose(found.today)
    if boundary.low is not None and found.today < boundary.low:
        return f"today's {at} is {_apart(boundary.at - found.today, found)} below the edge: "
    if boundary.high is not None and found.today > boundary.high:
        return f"today's {at} is {_apart(found.today - boundary.at, found)} beyond the edge: "
    return f"today's {at} may lie on either side of the edge: "


def _apart(distance: float, found: Margins) -> str:
    """Write a difference of doses: that of shares is in points."""
    if found.boundary.unit is DoseUnit.PERCENT:
        return f"{number(distance)} points"
    return found.boundary.unit.written(distance, "/s" if found.factor == RATE else "")


def edges(found: Margins) -> Table:
    """Return the boundary and the safe dose of each configuration."""
    words = wording(found)
    rows = [
        {
            "configuration": one.name,
            "boundary": boundary_in_words(one.answer, words),
            "safe": safe_in_words(one.answer, words),
            "rounds": str(one.answer.rounds),
            "lost": str(one.answer.lost),
            "outcome": FOUND[one.answer.found] if one.answer.over else f"{FOUND[one.answer.found]}, not at its end",
        }
        for one in found.searched
    ]
    note = "At the boundary half of the rounds are lost, at the safe dose 5 of 100. An end that is … was not found."
    return Table("Boundary and safe dose of each configuration", pd.DataFrame(rows), note)


def compared(found: Margins) -> list[Table]:
    """Return how many times the dose of the first configuration each other one bears."""
    first, *others = found.searched
    others = [one for one in others if first.answer.boundary or one.answer.boundary]
    if not others:
        return []
    rows = [_compared(first, one, found, len(others)) for one in others]
    note = (
        "Rounds of both were made in the same blocks. The intervals of each column hold together with 95 % confidence; "
        "one that leaves out 1 shows a difference."
    )
    return [Table(f"How many times the dose of {first.name} others bear", pd.DataFrame(rows), note)]


def expected(found: Margins) -> list[Table]:
    """Return what the study expected of its boundaries, and what became of it; none without a claim."""
    claims = found.boundary.claims
    rows = [
        {"claim": one.says, "expected": one.change, "of": one.of, "times (interval)": _times(times), "verdict": verdict}
        for one in claims
        for times, verdict in [_judged(one, found, len(claims))]
    ]
    note = "Times are doses of the configuration of `to`, as multiples of that of `from`. All hold together with 95 %."
    return [Table("What the study expected", pd.DataFrame(rows), note)] if rows else []


def _judged(claim: ClaimedBearing, found: Margins, claims: int) -> tuple[Ratio | None, Conclusion]:
    """Hold a claim against the rounds of its two configurations."""
    by_key = {one.configuration.key: one for one in found.searched}
    every = [one.configuration for one in found.searched]
    sides = [by_key[one.key] for levels in (claim.from_, claim.to) for one in having(every, levels)]
    if len(sides) != 2 or not any(one.answer.boundary for one in sides):  # noqa: PLR2004 - two sides
        return None, Conclusion.INCONCLUSIVE
    share = HALF if claim.of == "boundary" else FEW
    times = ratio(sides[0].tries, sides[1].tries, found.search, share, claims)
    return times, times.concluded(HIGHER if claim.change == HIGHER.words else LOWER)


def _compared(first: SearchedBoundary, other: SearchedBoundary, found: Margins, comparisons: int) -> dict[str, str]:
    half, few = (ratio(first.tries, other.tries, found.search, share, comparisons) for share in (HALF, FEW))
    verdict = _BEARS.get(half.verdict, half.verdict)
    return {"configuration": other.name, "boundary": _times(half), "safe": _times(few), "verdict": verdict}


def _times(found: Ratio | None) -> str:
    if found is None:
        return "not located"
    low, high = ("…" if end is None else number(end) for end in (found.low, found.high))
    return f"{number(found.at)} [{low}, {high}]"


def _map(axis: MapAxis | None, found: Margins) -> list[Figure]:
    """Return the map of load and length of the fault, or of any other two numbers, where the study has both."""
    if axis is None:
        return []
    unit = " (s)" if axis.factor.unit is Unit.DURATION else ""
    titles = f"{factor_title(axis.factor.name)}{unit}", f"{factor_title(found.factor)}{_unit(found)}"
    caption = (
        "Points are rounds that were held and lost, larger for more. The line is the boundary, the band its interval, "
        "crosses are today's dose. Below the band is the safe side."
    )
    return [Figure("Map of the boundary", figure.map_of(found, axis.factor.name, axis.panels, titles), caption)]


def _figure(found: Margins) -> Figure:
    caption = (
        "Points are the shares of lost rounds at each dose, larger for more rounds. Lines are the likeliest curves, "
        "bands the intervals of the boundaries. The dashed line is today's dose."
    )
    title = f"{factor_title(found.factor)}{_unit(found)}"
    return Figure("Lost rounds by dose", figure.spec(found, title), caption)


def _unit(found: Margins) -> str:
    unit = {DoseUnit.PERCENT: "%", DoseUnit.TIME: "s"}.get(found.boundary.unit, "/s" if found.factor == RATE else "")
    return f" ({unit})" if unit else ""
