"""Rates that are shares of a capacity: how they are written, what they need, what they come to."""

from __future__ import annotations

import pytest
from tests.support.studies import problems

from patternbench.plan.expand import expand
from patternbench.plan.scenarios import Scenario
from patternbench.plan.shares import any_shares, at_capacity
from patternbench.records.stored import MeasuredCapacity
from patternbench.report.sections import capacity as section
from patternbench.run.before import evidence
from patternbench.run.single.capacity_of_run import AFTER, BEFORE, lacking
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: shares
system: target
workload: {open: {rate: RATE, duration: 2s}}
capacity: {rate: 120/s}
"""


def read(rate: str, text: str = STUDY) -> Study:
    return loads(text.replace("RATE", rate), "study.yaml")


def refused(rate: str, text: str = STUDY) -> str:
    try:
        study = read(rate, text)
        evidence.check(study, expand(study))
    except InputError as error:
        assert len(error.problems) == 1, [str(one) for one in error.problems]
        return str(error.problems[0])
    raise AssertionError("the study was accepted")


@pytest.mark.parametrize("rate", ["{share: 70 %}", "{share: 70%}", "70 %", "{share: 70.0 %}"])
def test_a_share_is_one_level_however_it_is_written(rate: str) -> None:
    (scenario,) = expand(read(rate)).scenarios
    assert scenario.workload.open is not None and scenario.workload.open.rate is not None
    assert scenario.workload.open.rate.level == "70 %"
    assert scenario.id == expand(read("{share: 70 %}")).scenarios[0].id


def test_shares_are_levels_of_a_factor_and_keep_through_a_plan() -> None:
    plan = expand(read("{share: [50 %, 70 %]}"))
    assert plan.factors["rate"].levels == ("50 %", "70 %")
    kept = [Scenario.from_json(one.as_json()) for one in plan.scenarios]
    assert [one.id for one in kept] == [one.id for one in plan.scenarios]
    assert any_shares(kept)


def test_a_share_of_the_capacity_is_the_rate_of_a_round_and_its_scenario_keeps_its_id() -> None:
    plan = expand(read("{share: [50 %, 70 %]}"))
    rates = [at_capacity(one, 120.0).workload.open for one in plan.scenarios]
    assert [one.rate.level for one in rates if one and one.rate] == [60, 84]
    with pytest.raises(ValueError, match="not known"):
        at_capacity(plan.scenarios[0], None)


def test_a_rate_is_what_it_was() -> None:
    (scenario,) = expand(read("90", STUDY.replace("capacity: {rate: 120/s}\n", ""))).scenarios
    assert at_capacity(scenario, None) is scenario


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        ("{share: 70}", "workload.open.rate"),
        ("{share: 0 %}", "is not a share of the capacity"),
        ("{shar: 70 %}", "is neither a rate nor a share"),
        ("-70 %", "is not a share of the capacity"),
        ("2000 %", "allowed: a share above 0 and up to 1000 %"),
    ],
)
def test_what_is_no_share_is_refused_with_its_line(rate: str, message: str) -> None:
    found = problems(STUDY.replace("RATE", rate))
    assert len(found) == 1
    assert str(found[0]).startswith("study.yaml:4: workload.open.rate")
    assert message in str(found[0])


@pytest.mark.parametrize(
    ("capacity", "message"),
    [
        ("", "workload.open: is a share of the capacity, which the study does not name; add `capacity:"),
        ("capacity: {objective: quick}\n", "capacity.objective: 'quick' isn't an objective"),
        ("capacity: {start: 50, most: 20}\n", "capacity.start: is above `most`"),
    ],
)
def test_a_share_without_a_capacity_that_it_is_of_is_refused(capacity: str, message: str) -> None:
    assert message in refused("{share: 70 %}", STUDY.replace("capacity: {rate: 120/s}\n", capacity))


def test_a_capacity_that_nothing_is_a_share_of_is_refused() -> None:
    assert "capacity: no rate is a share of it" in refused("70")


def test_a_capacity_is_given_or_measured() -> None:
    (found,) = problems(STUDY.replace("RATE", "70 %").replace("120/s", "120/s, objective: p95 <= 1s"))
    assert "objective does not go with rate" in str(found)


def test_a_share_does_not_go_with_a_number_of_arrivals() -> None:
    (found,) = problems(STUDY.replace("rate: RATE, duration: 2s", "rate: 70 %, arrivals: 20"))
    assert "arrivals does not go with a share of the capacity" in str(found)


def test_a_given_capacity_is_known_before_the_rounds_and_not_asked_after_them() -> None:
    study = read("70 %")
    plan = expand(study)
    assert study.capacity is not None
    assert lacking(study, plan, {}, over=False) == BEFORE
    known = {BEFORE: MeasuredCapacity(rate=120.0)}
    assert lacking(study, plan, known, over=True) is None
    assert lacking(read("70", STUDY.replace("capacity: {rate: 120/s}\n", "")), plan, {}, over=False) is None


def test_a_measured_capacity_is_measured_once_more_when_the_rounds_are_over() -> None:
    study = read("70 %", STUDY.replace("{rate: 120/s}", "{objective: p95 <= 200ms}"))
    plan, known = expand(study), {BEFORE: MeasuredCapacity(rate=120.0)}
    assert lacking(study, plan, known, over=False) is None
    assert lacking(study, plan, known, over=True) == AFTER
    assert lacking(study, plan, {**known, AFTER: MeasuredCapacity(rate=None)}, over=True) is None


def test_a_capacity_that_changed_while_rounds_ran_is_a_warning() -> None:
    before = MeasuredCapacity(rate=120.0, low=115.0, high=125.0, objective="p95 <= 1s", rounds=20)
    same = MeasuredCapacity(rate=124.0, low=118.0, high=130.0, objective="p95 <= 1s", rounds=20)
    slower = MeasuredCapacity(rate=95.0, low=90.0, high=100.0, objective="p95 <= 1s", rounds=20)
    assert section.warnings({BEFORE: before, AFTER: same}) == []
    (warning,) = section.warnings({BEFORE: before, AFTER: slower})
    assert "The capacity changed by -20.8 % while rounds ran, from 120/s [115, 125] to 95/s [90, 100]" in warning
    (made,) = section.sections({"capacity": {"before": before.as_json(), "after": slower.as_json()}})
    assert made.warnings == [warning]
    assert section.sections({}) == []
