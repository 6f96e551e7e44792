"""The study that is made to find from which load a service recovers, or for how long a fault may last."""

from __future__ import annotations

from pathlib import Path

import pytest

from patternbench.plan.expand import expand
from patternbench.run.before import evidence
from patternbench.run.single.rate_rounds import of_url
from patternbench.run.single.recovery_study import Trigger, study_of
from patternbench.study.load import StudyFile
from patternbench.study.models import Study
from patternbench.terms.problems import InputError

URL = "http://127.0.0.1:8080/items?size=3"
STUDY = """\
patternbench: 1
name: shop
system: target
rounds: 5
claims: []
workload: {open: {rate: 40, duration: 10s, in_flight: 500}, request: {path: /bytes/10}}
strategies:
  - {client: native, name: again, stack: [{retry: {max_attempts: 3, backoff: {fixed: {delay: 10ms}}}}]}
"""


def of_study() -> StudyFile:
    return StudyFile("shop.yaml", STUDY, Path.cwd())


def checked(file: StudyFile) -> Study:
    study = file.study()
    evidence.check(study, expand(study))
    return study


def test_a_url_is_searched_over_shares_of_a_capacity_that_is_measured_first() -> None:
    study = checked(study_of(of_url(URL), Trigger.parse("freeze 2s"), "p95 <= 200ms", None, 40))
    assert study.boundary is not None and study.capacity is not None
    assert (study.boundary.over, study.boundary.low, study.boundary.high) == ("open.rate", 20, 100)
    assert study.capacity.objective == "p95 <= 200ms"
    (fault,) = study.faults
    assert (fault.kind, fault.where) == ("partition", "edge"), "what waits on the link arrives when the fault ends"
    assert study.workload.open is not None and study.workload.open.duration is not None
    assert study.workload.open.duration[0].seconds == 8 + 2 + 20


def test_at_a_load_the_length_of_the_fault_is_searched() -> None:
    study = checked(study_of(of_study(), Trigger.parse("freeze at target"), None, 60.0, 25))
    assert study.boundary is not None and study.capacity is None
    assert (study.boundary.over, study.boundary.low, study.boundary.high) == ("freeze.when.for", 0.2, 8)
    assert study.boundary.max == 25
    assert study.workload.open is not None and study.workload.open.rate is not None
    assert study.workload.open.rate[0] == 60 and study.workload.open.in_flight[0] == 500
    assert study.strategies[0].known_as == "again"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("frezze 2s", "isn't a trigger (got 'frezze 2s'); allowed: one of"),
        ("frezze 2s", "did you mean `freeze`?"),
        ("delay 2s", "isn't a trigger"),
        ("2s", "isn't a trigger"),
        ("freeze 2", "isn't a trigger"),
    ],
)
def test_what_is_no_trigger_is_refused_with_those_there_are(text: str, message: str) -> None:
    with pytest.raises(InputError) as raised:
        Trigger.parse(text)
    assert message in str(raised.value)


def test_a_fault_of_a_component_needs_its_name_and_a_url_has_none() -> None:
    with pytest.raises(InputError, match="write `freeze 2s at COMPONENT`"):
        study_of(of_study(), Trigger.parse("freeze 2s"), None, None, 40)
    for text in ("crash 1s", "freeze 2s at shop"):
        with pytest.raises(InputError, match="acts on a component, and a URL has none"):
            study_of(of_url(URL), Trigger.parse(text), None, None, 40)


@pytest.mark.parametrize("kind", ["flush", "restart"])
def test_a_trigger_that_is_over_by_itself_has_no_length_to_search(kind: str) -> None:
    study = checked(study_of(of_study(), Trigger.parse(f"{kind} at target"), None, None, 40))
    assert study.boundary is not None and study.boundary.over == "open.rate"
    with pytest.raises(InputError, match="is over by itself, and has no length to search"):
        study_of(of_study(), Trigger.parse(f"{kind} at target"), None, 60.0, 40)


def test_a_closed_workload_has_no_rate_to_search() -> None:
    text = STUDY.replace("{open: {rate: 40, duration: 10s, in_flight: 500}", "{closed: {users: 4, duration: 10s}")
    with pytest.raises(InputError, match="has no rate to search"):
        study_of(StudyFile("shop.yaml", text, Path.cwd()), Trigger.parse("freeze 2s at target"), None, None, 40)
