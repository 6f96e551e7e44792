"""What a study may say about the search of a boundary, and how what it can't say is refused."""

from __future__ import annotations

import pytest
from tests.support.studies import problems

from patternbench.plan.doses import configurations, dose_field, today
from patternbench.plan.expand import Plan, expand
from patternbench.run.before import evidence
from patternbench.study.boundary import Boundary
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.terms.problems import InputError

STUDY = """\
patternbench: 1
name: margin
system: {name: target, settings: {service_time: "exponential:8ms", workers: 1}}
workload: {open: {rate: 60, duration: 30s}}
faults:
  - {freeze: {}, where: target, when: {from: 8s, for: 2s}}
strategies:
  - {client: native, name: once, stack: [{timeout: 300ms}]}
  - client: native
    name: again
    stack: [{retry: {max_attempts: 4, backoff: {fixed: {delay: 10ms}}}}, {timeout: 300ms}]
boundary: BOUNDARY
"""
RATES = "{over: open.rate, between: [20, 100], until: {half_width: 5}}"
SHARES = "{over: open.rate, between: [30 %, 100 %], until: {half_width: 4 points}}"
TIMES = "{over: freeze.when.for, between: [500ms, 5s], until: {half_width: 300ms}, max: 30}"


def read(boundary: str = RATES) -> tuple[Study, Boundary]:
    study = loads(STUDY.replace("BOUNDARY", boundary), "study.yaml")
    assert study.boundary is not None
    return study, study.boundary


def refused(boundary: str, text: str = STUDY) -> str:
    """The only problem of a study, found while it is read, expanded or checked."""
    try:
        study = loads(text.replace("BOUNDARY", boundary), "study.yaml")
        evidence.check(study, expand(study))
    except InputError as error:
        assert len(error.problems) == 1, [str(one) for one in error.problems]
        return str(error.problems[0])
    raise AssertionError("the study was accepted")


def test_doses_lie_half_of_the_half_width_apart_and_include_both_ends() -> None:
    _, boundary = read()
    assert boundary.doses[:3] == (20, 22.5, 25)
    assert boundary.doses[-2:] == (97.5, 100)
    assert len(boundary.doses) == 33
    _, uneven = read("{over: open.rate, between: [20, 50], until: {half_width: 5}, step: 4}")
    assert uneven.doses == (20, 24, 28, 32, 36, 40, 44, 50)


def test_each_dose_is_a_level_and_each_strategy_a_configuration() -> None:
    study, boundary = read()
    plan = expand(study)
    assert dose_field(study, boundary).factor == "rate"
    assert plan.factors["rate"].levels == boundary.doses
    once, again = configurations(plan.scenarios, "rate")
    assert tuple(once.scenarios) == tuple(again.scenarios) == boundary.doses
    assert (once.levels["strategy"], again.levels["strategy"]) == ("once", "again")
    rates = {
        one.id: one.workload.open.rate.level for one in plan.scenarios if one.workload.open and one.workload.open.rate
    }
    assert all(rates[scenario] == dose for dose, scenario in once.scenarios.items())
    assert today(study, boundary) == 60


def test_the_length_of_a_fault_is_a_dose_too() -> None:
    study, boundary = read(TIMES)
    plan = expand(study)
    assert dose_field(study, boundary).factor == "freeze.when.for"
    first, *_ = configurations(plan.scenarios, "freeze.when.for")
    assert tuple(first.scenarios) == boundary.doses
    lengths = {one.id: one.faults[0].windows[0].for_ for one in plan.scenarios}
    assert lengths[first.scenarios[0.65]].level.us == 650_000
    assert today(study, boundary) == 2


def test_a_percentage_of_a_fault_is_a_dose_too() -> None:
    text = STUDY.replace("{freeze: {},", "{cpu: {percentage: 50},")
    study = loads(
        text.replace("BOUNDARY", "{over: cpu.percentage, between: [10 %, 90 %], until: {half_width: 5 points}}"),
        "s.yaml",
    )
    levels = [one.faults[0].chosen.percentage.level for one in expand(study).scenarios]
    assert levels[0] == 10 and max(levels) == 90
    wrong = "{over: cpu.percentage, between: [10 %, 100 %], until: {half_width: 5 points}}"
    assert "boundary.between: goes beyond what `cpu.percentage` may be (got '100 %')" in refused(wrong, text)


def test_a_study_without_a_search_expands_as_before() -> None:
    study = loads(STUDY.replace("boundary: BOUNDARY\n", ""), "study.yaml")
    assert study.boundary is None
    assert [one.levels["strategy"] for one in expand(study).scenarios] == ["once", "again"]


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        (
            "{over: open.rate, between: [100, 20], until: {half_width: 5}}",
            "between 100 and 20 there is nothing to search",
        ),
        (
            "{over: open.rate, between: [0, 20], until: {half_width: 2}}",
            "allowed: two doses above 0, the lower one first",
        ),
        ("{over: open.rate, between: [20, 20], until: {half_width: 2}}", "there is nothing to search"),
        ("{over: open.rate, between: [20], until: {half_width: 2}}", "boundary.between"),
        ("{over: open.rate, between: [20, 100], until: {half_width: 200ms}}", "has another unit than the begin"),
        ("{over: open.rate, between: [20, 100], until: {half_width: 30}}", "at most a quarter of the range: 20"),
        ("{over: open.rate, between: [20, 100], until: {half_width: 0}}", "a half width of 0 does not go"),
        ("{over: open.rate, between: [20, 100], until: {half_width: 5}, step: 0.1}", "makes 801 doses"),
        (
            "{over: open.rate, between: [20, 100], until: {half_width: 5}, max: 5}",
            "boundary.max: is not allowed here (got 5)",
        ),
        (
            "{over: open.rate, between: [20, wide], until: {half_width: 5}}",
            "is not a dose (got 'wide'); allowed: a share such",
        ),
        ("{over: open.rate, between: [20, 100]}", "`until` is missing"),
    ],
)
def test_an_impossible_search_is_refused_with_its_line(boundary: str, message: str) -> None:
    found = problems(STUDY.replace("BOUNDARY", boundary))
    assert len(found) == 1
    assert str(found[0]).startswith("study.yaml:12: boundary")
    assert message in str(found[0])


@pytest.mark.parametrize(
    ("boundary", "message"),
    [
        (RATES.replace("open.rate", "open.rates"), "boundary.over: names no field of this study that can hold doses"),
        (RATES.replace("open.rate", "users"), "allowed: open.rate, freeze.when.for"),
        (RATES.replace("open.rate", "freeze.when.for"), "boundary.between: has another unit than `freeze.when.for`"),
        (SHARES, "boundary.between: is a share of the capacity, which the study does not name"),
        (RATES.replace("{over", "{of: recoverd, over"), "boundary.of: `recoverd` isn't a response"),
        (RATES.replace("{over", "{of: failure_rate, over"), "boundary.of: `failure_rate` isn't a yes or no by itself"),
        (RATES.replace("{over", "{of: p95 <= 1, over"), "boundary.of: 'p95 <= 1': p95 is a time and needs a unit"),
    ],
)
def test_a_search_that_finds_nothing_in_its_study_is_refused(boundary: str, message: str) -> None:
    assert message in refused(boundary)


def test_a_limit_of_a_response_says_which_rounds_are_held() -> None:
    study, _ = read(RATES.replace("{over", "{of: failure_rate <= 1 %, over"))
    evidence.check(study, expand(study))


def test_a_dose_that_has_several_levels_is_refused() -> None:
    text = STUDY.replace("rate: 60", "rate: [60, 70]")
    assert "boundary.over: `open.rate` has a list of levels" in refused(RATES, text)


@pytest.mark.parametrize("window", ["{for: 2s}", "{from: 8s}", "{from: 8s, for: 25s}"])
def test_recovery_without_a_fault_that_ends_before_the_load_is_refused(window: str) -> None:
    message = "boundary.of: `recovered` needs a fault that begins and ends while the load goes on"
    assert message in refused(RATES, STUDY.replace("{from: 8s, for: 2s}", window))


def test_recovery_in_a_study_without_a_fault_is_refused() -> None:
    text = STUDY.replace("faults:\n  - {freeze: {}, where: target, when: {from: 8s, for: 2s}}\n", "")
    assert "needs a fault that begins and ends while the load goes on" in refused(RATES, text)


def test_a_number_of_rounds_does_not_go_with_a_search() -> None:
    found = problems(STUDY.replace("BOUNDARY", RATES) + "rounds: 5\n")
    assert ["rounds does not go with boundary" in str(one) for one in found] == [True]


def test_a_design_that_leaves_doses_out_is_refused() -> None:
    text = STUDY + "design: {exclude: [{rate: 20}]}\n"
    assert "design: leaves out doses of the search" in refused(RATES, text)


def test_a_claim_names_one_configuration_on_each_side() -> None:
    claims = "claims: [{says: x, change: lower, from: {strategy: once}, to: {strategy: SIDE}}]}"
    text = RATES.removesuffix("}") + ", " + claims
    evidence.check(*_of(text.replace("SIDE", "again")))
    message = "boundary.claims[0].to: names 0 configurations of the search; allowed: one configuration"
    assert message in refused(text.replace("SIDE", "agin"))


def _of(boundary: str) -> tuple[Study, Plan]:
    study, _ = read(boundary)
    return study, expand(study)


@pytest.mark.parametrize("kind", ["flush", "restart"])
def test_the_length_of_a_fault_that_is_over_by_itself_is_no_dose(kind: str) -> None:
    text = STUDY.replace("freeze: {}", f"{kind}: {{}}")
    problem = refused(TIMES.replace("freeze.when.for", f"{kind}.when.for"), text)
    assert "boundary.over: names no field of this study that can hold doses" in problem
    assert "allowed: open.rate" in problem
