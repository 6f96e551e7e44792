"""What a run recommends, and the first screen that shows it: for the report, and for the viewers of the run.

The words are those of ``choosing``. Intervals of contenders hold together: they are as much wider as it takes for all
configurations under a condition to be compared at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import pandas as pd

from patternbench.analyze.recommend.recommendation import (
    Against,
    Candidate,
    Choice,
    Criteria,
    Recommendation,
    against_one,
    recommend,
)
from patternbench.analyze.rounds import Key, key
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.lines import Change, changes, rows_of
from patternbench.analyze.statements.sentences import change_text, changed
from patternbench.analyze.statements.verdict import ChoiceVerdict, Verdict
from patternbench.plan.factors import Factors
from patternbench.report.acting_faults import ActingFaults, acting_faults
from patternbench.report.first_screen import (
    PERCENT,
    ChangesIn,
    Contender,
    DrawnChange,
    FirstScreen,
    ScreenRow,
)
from patternbench.report.labels import RESPONSES
from patternbench.report.model import RunReport
from patternbench.report.sections import predicted
from patternbench.report.sections.choosing import (
    FEW,
    ChoiceNames,
    at_a_glance,
    conditions_in_words,
    in_a_sentence,
    is_alone,
    limits_in_words,
    names_of,
)
from patternbench.report.sections.construction import as_constructed, by_construction, requested_of
from patternbench.report.sections.criteria import criteria_of
from patternbench.report.sections.findings import Findings
from patternbench.report.sections.stands import scenario_ids
from patternbench.study.models import Study
from patternbench.terms.roles import Role

MOST_CONTENDERS = 12
"""How many intervals the figure of the first screen has room for."""
MOST_COSTS = 3
"""How many responses that get worse a row names."""
_TWO = 2
_LOOKS = {ChoiceVerdict.CLEAR: "better", ChoiceVerdict.KEPT: "better", ChoiceVerdict.NOTHING: "worse"}


@dataclass(frozen=True)
class RunRecommendation:
    """What the rounds of a run recommend, by which criteria, and the words for it: a lead, then notes.

    ``reported`` is the recommendation with the conditions that a reader sees: several faults as one. ``constructed``
    says why an answer is true by construction, ``decided_by_design`` that nothing else decides it.
    """

    recommendation: Recommendation
    criteria: Criteria
    rounds: pd.DataFrame
    faults: ActingFaults
    words: Sequence[str]
    constructed: Sequence[str] = ()
    decided_by_design: bool = False

    @property
    def reported(self) -> Recommendation:
        """Return the recommendation with the conditions that a reader sees."""
        choices = (replace(one, conditions=self.faults.reported(one.conditions)) for one in self.recommendation.choices)
        return replace(self.recommendation, choices=tuple(choices))

    @property
    def factors(self) -> Factors:
        """The factors as a reader sees them."""
        return self.faults.factors


def recommended(report: RunReport, study: Study) -> RunRecommendation | None:
    """Return what the rounds of a run recommend; None where there is nothing to choose from. Raises DataError."""
    rounds = report.done.reset_index(drop=True)
    choosable = [name for name, factor in report.factors.items() if factor.role is Role.PATTERN]
    if not choosable or rounds.empty or rounds[choosable].drop_duplicates().shape[0] < _TWO:
        return None
    criteria = criteria_of(study, report.factors, rounds.columns)
    found = recommend(rounds, criteria)
    if report.simulated:
        predicted.refuse_run(report, requested_of(found))
    made = RunRecommendation(found, criteria, rounds, acting_faults(report.factors, report.scenarios), ())
    lead, *more = at_a_glance(made.reported, study, made.factors)
    constructed = by_construction(rounds, requested_of(found))
    stated = as_constructed(lead, found) if constructed else lead
    words = (stated, *([predicted.SENTENCE] if report.simulated else []), *constructed, *more)
    return replace(made, words=words, constructed=constructed, decided_by_design=stated != lead)


def first_screen(found: RunRecommendation) -> FirstScreen:
    """Return the first screen of a recommendation."""
    reported, factors = found.reported, found.factors
    objective = reported.objectives[0]
    names, ids = names_of(reported, factors), scenario_ids(found.rounds, found.criteria)
    lead, *notes = found.words
    drawn, hidden = _drawn(found, names)
    return FirstScreen(
        sentences=tuple(lead.split("\n")),
        notes=tuple(notes),
        objective=objective.response,
        response=_title(objective.response),
        against=_against(reported, names),
        lower_is_better=objective.minimise,
        rows=tuple(_rows(found, names, ids)),
        contenders=tuple(drawn),
        hidden=hidden,
        settled=not found.constructed and all(choice.is_settled for choice in reported.choices),
    )


def _title(response: str) -> str:
    return RESPONSES[response].title if response in RESPONSES else response


def _against(recommendation: Recommendation, names: ChoiceNames) -> str:
    """Name what contenders are compared with; no name where that differs between conditions."""
    stated = {names.of(base) for base in map(_yardstick, recommendation.choices) if base is not None}
    return stated.pop() if len(stated) == 1 else "the choice"


def _yardstick(choice: Choice) -> Candidate | None:
    """Return what the contenders under a condition are compared with: the baseline, or without one the choice."""
    return choice.baseline or choice.chosen


# --- rows


def _rows(found: RunRecommendation, names: ChoiceNames, ids: Mapping[Key, frozenset[str]]) -> list[ScreenRow]:
    """Return a row for each condition, or where there are many for each answer."""
    choices = found.reported.choices
    single = [_row(choice, found, names, ids) for choice in choices]
    if len(single) <= FEW:
        return single
    alike: dict[tuple[str, str], list[ScreenRow]] = {}
    for row, choice in zip(single, choices, strict=True):
        alike.setdefault((row.choose, _short_sure(choice)), []).append(row)
    grouped = sorted(alike.items(), key=lambda one: -len(one[1]))
    kept = [_several(rows, sure, len(single)) for (_, sure), rows in grouped[:FEW]]
    left = sum(len(rows) for _, rows in grouped[FEW:])
    more = ScreenRow(_of(left, len(single)), "other answers", "in the table of choices below", "open")
    return [*kept, more] if left else kept


def _of(count: int, total: int) -> str:
    return f"{count} of {total} conditions"


def _several(rows: Sequence[ScreenRow], sure: str, total: int) -> ScreenRow:
    """Return the row of several conditions with one answer."""
    gains = [change for row in rows if row.gain for change in row.gain.each]
    title = next((row.gain.title for row in rows if row.gain), "")
    gain = changes_in(title, gains) if gains else None
    ids = frozenset().union(*(row.scenarios for row in rows))
    return replace(rows[0], condition=_of(len(rows), total), sure=sure, gain=gain, scenarios=ids)


def _row(choice: Choice, found: RunRecommendation, names: ChoiceNames, ids: Mapping[Key, frozenset[str]]) -> ScreenRow:
    where = conditions_in_words([choice.conditions], found.factors) if choice.conditions else ""
    own = ids.get(key(choice.chosen.scenario.levels), frozenset()) if choice.chosen else frozenset()
    objective = found.reported.objectives[0]
    against = [one for one in choice.against_baseline if one.response == objective.response]
    gain = changes_in(_title(objective.response), [drawn(one, objective.minimise) for one in against])
    kept = "keeps" if choice.sure else "kept"
    choose = names.of(choice.chosen) if choice.chosen else f"nothing {kept} {limits_in_words(found.reported)}"
    look = "open" if found.constructed or is_alone(choice) else _look(choice)
    settled = found.decided_by_design and choice.verdict.is_clear
    sure = "by construction" if settled else how_sure(choice, names)
    yardstick = choice.chosen is not None and choice.chosen is _yardstick(choice) and not is_alone(choice)
    return ScreenRow(where, choose, sure, look, gain if against else None, (), yardstick, own)


def _look(choice: Choice) -> str:
    return _LOOKS.get(choice.verdict, "open") if choice.is_settled else "open"


def how_sure(choice: Choice, names: ChoiceNames) -> str:
    """Say how sure a choice is, and if it is not, what else it may be."""
    if is_alone(choice):
        return "the only one measured"
    if choice.verdict.is_clear:
        kept = f", limits kept in all {choice.rounds} rounds" if choice.verdict is ChoiceVerdict.KEPT else ""
        return f"clear{kept}{choice.shown.condition}"
    if choice.chosen is None:
        return f"sure{choice.shown.condition}" if choice.sure else "not sure"
    if choice.verdict is ChoiceVerdict.UNSURE:
        return f"open: which ones keep {limits_in_words(names.recommendation)}"
    near = f"; {choice.near_the_best}" if choice.near_the_best else ""
    return f"{_tie(choice, names)}{near}"


def _tie(choice: Choice, names: ChoiceNames) -> str:
    """Say what a choice can't be distinguished from, or that nothing shows a gain over it."""
    if choice.chosen is not choice.ties[0] and not choice.gains:
        return "no gain over it is shown"
    others = [names.of(one) for one in choice.ties if one is not choice.chosen]
    more = f" and {len(others) - _TWO} more" if len(others) > _TWO else ""
    return f"not told apart from {', '.join(others[:_TWO])}{more}"


def _short_sure(choice: Choice) -> str:
    """Say how sure a choice is in a word or two, for several conditions at once."""
    if is_alone(choice):
        return "the only one measured"
    if choice.chosen is None:
        return "sure" if choice.sure else "not sure"
    return "clear" if choice.verdict.is_clear else "not clear"


# --- contenders


def _drawn(found: RunRecommendation, names: ChoiceNames) -> tuple[list[Contender], int]:
    """Return the contenders that a figure has room for, and how many others there are.

    Conditions are in rising order: those of the last ones are drawn, where patterns matter most.
    """
    choices = found.reported.choices
    kept: list[Contender] = []
    for choice in reversed(choices):
        if kept and len(kept) + len(choice.candidates) - 1 > MOST_CONTENDERS:
            break
        kept = [*_best(list(_contenders(choice, found, names)), found.reported.objectives[0].minimise), *kept]
    every = sum(len(choice.candidates) - (_yardstick(choice) is not None) for choice in choices)
    return kept, every - len(kept)


def _best(group: Sequence[Contender], lower: bool) -> list[Contender]:
    """Return the contenders under one condition, the best first; of many the best, and what is chosen."""
    sign = 1.0 if lower else -1.0

    def rank(one: Contender) -> float:
        return float("inf") if one.change.value is None else sign * one.change.value

    ordered = sorted(group, key=rank)
    kept = ordered[:MOST_CONTENDERS]
    missed = [one for one in ordered[MOST_CONTENDERS:] if one.chosen]
    return [*kept[: MOST_CONTENDERS - len(missed)], *missed]


def _contenders(choice: Choice, found: RunRecommendation, names: ChoiceNames) -> Iterator[Contender]:
    base, objective = _yardstick(choice), found.reported.objectives[0]
    if base is None:
        return
    where = conditions_in_words([choice.conditions], found.factors) if choice.conditions else ""
    level = together(choice.each, max(1, len(choice.candidates) - 1))
    for one in choice.candidates:
        if one is not base:
            against = against_one(base.scenario, one.scenario, objective.response, level)
            unit = found.reported.units.get(objective.response, "")
            change = drawn(replace(against, unit=unit), objective.minimise)
            yield Contender(where, names.of(one), change, one is choice.chosen)


# --- changes


def drawn(one: Against, lower: bool) -> DrawnChange:
    """Return a change as it is drawn; ``lower`` says that less is better."""
    relative = one.relative is not None
    value = one.relative if relative else one.means[1] - one.means[0]
    low, high = (one.relative_interval if relative else one.interval).ends
    text = changed(one.response, value, (low, high), relative, one.unit)
    return DrawnChange(text, PERCENT if relative else one.response, value, low, high, _side(low, high, lower))


def _side(low: float | None, high: float | None, lower: bool) -> str:
    """On which side of no change an interval lies."""
    if low is None or high is None or low <= 0 <= high:
        return "open"
    return "better" if (high < 0) == lower else "worse"


def changes_in(title: str, each: Sequence[DrawnChange]) -> ChangesIn:
    """Return the changes in one response under several conditions, in words: of many only from where to where."""
    if len(each) == 1:
        return ChangesIn(title, each[0].text, each)
    values = [one.value for one in each if one.value is not None]
    unit = each[0].unit if each else PERCENT
    if not values:
        return ChangesIn(title, "", each)
    ends = (min(values), max(values))
    text = change_text("" if unit == PERCENT else unit, values[0], ends, unit == PERCENT)
    span = text.change if ends[0] == ends[1] else text.interval
    return ChangesIn(title, f"{span}, {len(values)} conditions", each)


def costs_of(screen: FirstScreen, comparisons: Findings) -> list[list[ChangesIn]]:
    """Return for each row of a screen what its choice costs: what it clearly makes worse than the baseline."""
    return [list(_costs(row, comparisons, screen.objective)) for row in screen.rows]


def _costs(row: ScreenRow, comparisons: Findings, objective: str) -> Iterator[ChangesIn]:
    by_response: dict[str, list[Change]] = {}
    for change in changes(rows_of(comparisons.by_scenario, row.scenarios)):
        is_cost = change.verdict is Verdict.WORSE and change.response not in comparisons.set_by_limits
        if is_cost and change.response != objective:
            by_response.setdefault(change.response, []).append(change)
    for response, mine in list(by_response.items())[:MOST_COSTS]:
        yield changes_in(in_a_sentence(response), [_of_finding(change) for change in mine])


def _of_finding(change: Change) -> DrawnChange:
    """Return a change that a finding names, as it is drawn."""
    unit = PERCENT if change.relative else change.response
    return DrawnChange(str(change.text), unit, change.change, change.low, change.high, change.verdict.style)
