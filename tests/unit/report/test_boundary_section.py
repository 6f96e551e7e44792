"""The section on a searched boundary: its map, its claims, and what it says of boundaries that were not located."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.support.boundary_searches import SEARCH, Flat, Known, Truth, made

from patternbench.analyze.boundary.search import Bound, SearchAnswer, SearchOutcome, answer
from patternbench.analyze.statements.verdict import Conclusion
from patternbench.plan.doses import SearchedConfiguration
from patternbench.plan.expand import expand
from patternbench.plan.factors import Factor, Level
from patternbench.records.stored import PlannedScenario
from patternbench.report.boundaries import Margins, SearchedBoundary
from patternbench.report.history.effects import margin_effects
from patternbench.report.model import RunReport
from patternbench.report.sections import boundary as section
from patternbench.report.sections import predicted
from patternbench.report.svg import draw
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.terms.roles import Role, Unit

STUDY = """\
patternbench: 1
name: margin
system: {name: store, settings: {workers: 1, service_time: "fixed:10ms"}}
capacity: {rate: 100/s}
workload: {open: {rate: {share: 50 %}, duration: 30s}}
faults:
  - {freeze: {}, where: store, when: {from: 8s, for: LENGTHS}}
strategies:
  - {client: native, name: once, stack: [{timeout: 300ms}]}
  - client: native
    name: again
    stack: [{retry: {max_attempts: 4, backoff: {fixed: {delay: 10ms}}}}, {timeout: 300ms}]
boundary:
  over: open.rate
  between: [30 %, 100 %]
  until: {half_width: 4 points}
  claims:
    - {says: with retries less load is borne, change: lower, from: {strategy: once}, to: {strategy: again}}
    - {says: with retries more load is borne, change: higher, from: {strategy: once}, to: {strategy: again}}
"""


def reported(truths: list[Known], lengths: str = "2s", claims: bool = True) -> tuple[RunReport, Study]:
    """A run that found these truths, one for each configuration in the plan's order."""
    text = STUDY.replace("LENGTHS", lengths)
    study = loads(text if claims else text.split("  claims:")[0], "study.yaml")
    plan = expand(study)
    scenarios = [PlannedScenario.model_validate(one.as_json()) for one in plan.scenarios]
    names = list(dict.fromkeys((one.levels["strategy"], one.levels.get("freeze.when.for")) for one in scenarios))
    rows = [
        {"round": 100 * place + number, "block": number, "scenario": ids[one.dose], "recovered": 100.0 * bool(one.held)}
        for place, tries in enumerate(made(truths, np.random.default_rng(4)))
        for ids in [{_dose(one): one.id for one in scenarios if _key(one) == names[place]}]
        for number, one in enumerate(tries)
    ]
    rounds = pd.DataFrame(rows).assign(status="done", valid=True)
    return RunReport("margin", text, {"capacity": {"before": {"rate": 100.0}}}, plan.factors, scenarios, rounds), study


def _key(one: PlannedScenario) -> tuple[object, object]:
    return one.levels["strategy"], one.levels.get("freeze.when.for")


def _dose(one: PlannedScenario) -> float:
    return float(str(one.levels["rate"]).removesuffix(" %"))


def test_a_claim_is_confirmed_or_contradicted_by_the_ratio_of_two_boundaries() -> None:
    (made_of,) = section.sections(*reported([Truth(85, 1), Truth(50, 1)]))
    assert made_of.tables[0].title == "What the study expected"
    assert made_of.tables[0].frame["verdict"].tolist() == [Conclusion.CONFIRMED, Conclusion.CONTRADICTED]
    lead, other = made_of.choice[0].split("\n")
    assert lead.startswith("once: today's 50 % is ") and "below the edge" in lead
    assert other.startswith("again: today's 50 % may lie on either side of the edge")


def test_one_that_bears_every_load_is_still_compared_with_one_that_does_not() -> None:
    (made_of,) = section.sections(*reported([Flat(0.0), Truth(50, 1)]))
    assert made_of.tables[0].frame["verdict"].tolist() == [Conclusion.CONFIRMED, Conclusion.CONTRADICTED]
    assert "all recover up to 100 %" in made_of.choice[0]


def test_claims_on_boundaries_that_were_not_located_are_inconclusive() -> None:
    (made_of,) = section.sections(*reported([Flat(0.0), Flat(0.0)]))
    assert set(made_of.tables[0].frame["verdict"]) == {Conclusion.INCONCLUSIVE}


@pytest.mark.parametrize("lengths", ["[1s, 2s]"])
def test_with_several_lengths_of_the_fault_there_is_a_map_that_can_be_drawn(lengths: str) -> None:
    truths: list[Known] = [Truth(90, 2), Truth(70, 2), Truth(70, 2), Truth(45, 2)]
    (made_of,) = section.sections(*reported(truths, lengths, claims=False))
    titles = [figure.title for figure in made_of.figures]
    assert titles == ["Map of the boundary", "Lost rounds by dose"]
    for figure in made_of.figures:
        assert "<svg" in draw(figure.spec)
    assert next(table.title for table in made_of.tables) == "Boundary and safe dose of each configuration"


def test_a_history_keeps_the_boundary_of_each_configuration_and_what_the_others_bear_against_the_first() -> None:
    first, second, bears = margin_effects(*reported([Truth(85, 1), Truth(50, 1)]))
    assert [one.kind for one in (first, second, bears)] == ["margin"] * 3
    assert (first.unit, first.relative, first.raw) == ("%", False, False)
    assert first.low is not None
    assert first.high is not None
    assert first.low < 85 < first.high
    assert second.value == pytest.approx(50, abs=6)
    assert bears.relative
    assert bears.value == pytest.approx(100 * (50 / 85 - 1), abs=10)
    assert bears.high is not None
    assert bears.high < 0, "with retries less load is borne"
    assert len({one.key for one in (first, second, bears)}) == 3


def test_a_history_keeps_no_boundary_that_was_not_located() -> None:
    assert list(margin_effects(*reported([Flat(0.0), Flat(0.0)]))) == []
    (only,) = margin_effects(*reported([Flat(0.0), Truth(50, 1)]))
    assert only.name.startswith("again: ")


# --- the map


def searched(levels: dict[str, Level]) -> SearchedBoundary:
    return SearchedBoundary(
        str(levels["strategy"]), SearchedConfiguration(repr(levels), levels), [], answer([], SEARCH)
    )


def axis(*levels: dict[str, Level]) -> section.MapAxis | None:
    """The axis of the map of configurations with these levels."""
    fault = Factor("freeze.when.for", (), ("1s", "2s"), Role.FAULT, Unit.DURATION)
    world = Factor("workers", (), (1, 2), Role.WORLD, Unit.COUNT)
    strategy = Factor("strategy", (), ("once", "again"), Role.PATTERN, Unit.TEXT)
    _, study = reported([Flat(0.0), Flat(0.0)])
    assert study.boundary is not None
    found = Margins(study.boundary, SEARCH, "rate", None, [searched(one) for one in levels])
    return section._axis(found, {one.name: one for one in (fault, world, strategy)})


def test_of_two_numbers_that_of_a_fault_is_the_axis_and_the_other_is_told_by_the_panels() -> None:
    levels: list[dict[str, Level]] = [
        {"strategy": "once", "freeze.when.for": length, "workers": workers}
        for workers in (1, 2)
        for length in ("1s", "2s")
    ]
    found = axis(*levels)
    assert found is not None
    assert found.factor.name == "freeze.when.for"
    assert list(found.panels) == ["once, workers 1", "once, workers 1", "once, workers 2", "once, workers 2"]


def test_without_a_number_that_varies_and_with_one_that_some_lack_there_is_no_map() -> None:
    assert axis({"strategy": "once"}, {"strategy": "again"}) is None
    assert axis({"strategy": "once", "workers": 1}, {"strategy": "again", "workers": None}) is None


def test_safe_doses_are_a_table_with_a_column_for_each_length() -> None:
    truths: list[Known] = [Truth(90, 2), Truth(70, 2), Truth(70, 2), Truth(45, 2)]
    (made_of,) = section.sections(*reported(truths, "[1s, 2s]", claims=False))
    frame = next(table.frame for table in made_of.tables if table.title.startswith("Safe dose by"))
    assert list(frame.columns) == ["configuration", "1 s", "2 s"]
    assert frame["configuration"].tolist() == ["once", "again"]
    assert all("%" in cell or cell.startswith("not located") for cell in frame["1 s"])


# --- in simulated time


def simulated(truths: list[Known]) -> tuple[RunReport, Study]:
    """The same run, as if a model had said so that was never checked."""
    report, study = reported(truths)
    return replace(report, manifest={**report.manifest, "simulated": {"model": "m", "sha256": ""}}), study


def test_boundaries_in_simulated_time_say_so_first_and_what_they_were_not_held_against() -> None:
    (made_of,) = section.sections(*simulated([Truth(85, 1), Truth(50, 1)]))
    assert made_of.words[:2] == [predicted.SENTENCE, predicted.NEVER_CHECKED]
    assert all(line.endswith(", in simulated time.") for line in made_of.choice[0].split("\n"))
    (measured,) = section.sections(*reported([Truth(85, 1), Truth(50, 1)]))
    assert not any("simulated" in line for line in (*measured.words, *measured.choice))


def test_a_margin_that_no_one_checked_is_no_evidence_for_a_configuration() -> None:
    report, study = simulated([Truth(85, 1), Truth(50, 1)])
    ids = [one.id for one in report.scenarios]
    assert section.margins_of_scenarios(report, study, ids) == []
    measured = section.margins_of_scenarios(*reported([Truth(85, 1), Truth(50, 1)]), ids)
    assert [line.partition(":")[0] for line in measured] == ["once", "again"]


# --- the safe dose


@pytest.mark.parametrize(
    ("safe", "words", "cell"),
    [
        (Bound(60.0, 50.0, 70.0), "95 of 100 recover up to 60 % [50 %, 70 %].", "60 % [50 %, 70 %]"),
        (Bound(60.0, 30.0, 70.0), "95 of 100 recover up to 60 % [30 %, 70 %].", "60 % [30 %, 70 %]"),
        (Bound(60.0, 29.9, 70.0), "the safe dose was not located.", "not located, at most 70 %"),
        (Bound(60.0, None, 70.0), "the safe dose was not located.", "not located, at most 70 %"),
        (Bound(60.0, None, None), "the safe dose was not located.", "not located"),
        (None, "the safe dose was not located.", "not located"),
    ],
)
def test_a_safe_dose_is_told_only_where_it_surely_lies_within_the_doses_that_were_tried(
    safe: Bound | None, words: str, cell: str
) -> None:
    said = SearchAnswer(SearchOutcome.LOCATED, True, 20, 9, 30.0, 100.0, boundary=Bound(80.0, 76.0, 84.0), safe=safe)
    _, study = reported([Flat(0.0), Flat(0.0)])
    assert study.boundary is not None
    one = SearchedBoundary("once", SearchedConfiguration("once", {"strategy": "once"}), [], said)
    found = Margins(study.boundary, SEARCH, "rate", None, [one])
    sentence = section.margin_in_words(one, found, section.wording(found))
    assert sentence == f"once: half of the rounds do not recover at 80 % [76 %, 84 %]; {words}"
    assert section.edges(found).frame["safe"].tolist() == [cell]


@pytest.mark.parametrize(
    ("today", "words"),
    [
        (None, "half of the rounds"),
        (75.9, "today's 75.9 % is 4.1 points below the edge: half"),
        (76.0, "today's 76 % may lie on either side of the edge: half"),
        (84.0, "today's 84 % may lie on either side of the edge: half"),
        (84.1, "today's 84.1 % is 4.1 points beyond the edge: half"),
    ],
)
def test_todays_dose_is_below_or_beyond_the_edge_only_outside_its_interval(today: float | None, words: str) -> None:
    said = SearchAnswer(SearchOutcome.LOCATED, True, 20, 9, 30.0, 100.0, boundary=Bound(80.0, 76.0, 84.0))
    _, study = reported([Flat(0.0), Flat(0.0)])
    assert study.boundary is not None
    one = SearchedBoundary("once", SearchedConfiguration("once", {"strategy": "once"}), [], said)
    found = Margins(study.boundary, SEARCH, "rate", today, [one])
    assert section.margin_in_words(one, found, section.wording(found)).startswith(f"once: {words}")
