"""When a run stops before its last round, and what its exit code rests on."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from patternbench.observe.warning import NOTHING_SEEN, RoundWarning
from patternbench.plan.order import Round
from patternbench.records.inputs import Inputs
from patternbench.records.journal import DONE, FAILED, Entry
from patternbench.run.round import health_probe, warnings
from patternbench.run.round.health_probe import TRIES, HealthProbe
from patternbench.run.stopping_early import out_of_reach, stops
from patternbench.run.verdict import lacking
from patternbench.study.model.system import declared
from patternbench.study.models import Fault
from patternbench.terms.problems import Problem

LATE = RoundWarning("late_schedule", "sent late", "stop other work", invalidates=True)
GONE = warnings.of_absence("http://x does not answer")[0]
NOT_STARTED = warnings.of_failed_start()[0]
USELESS = RoundWarning(warnings.NOTHING_SUCCEEDED, "not one of 9 calls succeeded", "look")
IDLE = RoundWarning(warnings.NO_CALL, "no call was made", "look", invalidates=True)


def entry(index: int, block: int, *found: RoundWarning, status: str = DONE, scenario: str = "a") -> Entry:
    return Entry(index, block, scenario, status, f"{index:05d}", float(index), 1.0, doubts=list(found))


def test_a_run_stops_at_once_when_its_system_is_gone() -> None:
    assert stops([entry(0, 0), entry(1, 0, GONE, status=FAILED)], Round(2, 0, "a"))


def test_a_run_stops_after_a_whole_block_without_a_valid_round() -> None:
    late = [entry(0, 0, LATE), entry(1, 0, LATE)]
    assert not stops(late, Round(2, 0, "c"))
    assert stops(late, Round(2, 1, "a"))


@pytest.mark.parametrize(
    "made",
    [
        [],
        [entry(0, 0, LATE)],
        [entry(0, 0, LATE), entry(1, 0)],
        [entry(0, 0, status=FAILED), entry(1, 0, status=FAILED)],
        [entry(0, 0, NOT_STARTED, status=FAILED)],
        [entry(0, 0), entry(1, 0, NOT_STARTED, status=FAILED), entry(2, 0, NOT_STARTED, status=FAILED)],
        [replace(entry(-1, -1), file="counting-a")],
    ],
)
def test_a_run_continues_with_a_valid_round_with_one_unlucky_round_and_with_failed_ones(made: list[Entry]) -> None:
    assert not stops(made, Round(len(made), 1, "a"))


def test_a_system_that_cannot_start_is_tried_twice_and_not_for_every_round() -> None:
    made = [entry(number, 0, NOT_STARTED, status=FAILED) for number in range(2)]
    assert stops(made, Round(2, 0, "a"))
    passes = [entry(-1, -1, NOT_STARTED, status=FAILED), entry(0, 0, NOT_STARTED, status=FAILED)]
    assert stops(passes, Round(1, 0, "a"))


def of_levels(*systems: str) -> list[Any]:
    """Two scenarios, of two loads, for each system."""
    return [
        SimpleNamespace(id=f"{name}{load}", system=name, client="native", faults=[])
        for name in systems
        for load in "12"
    ]


def failed(*scenarios: str) -> list[Entry]:
    return [entry(number, 0, NOT_STARTED, status=FAILED, scenario=one) for number, one in enumerate(scenarios)]


def test_a_level_with_which_the_system_cannot_start_is_tried_twice_and_the_others_in_every_round() -> None:
    scenarios = of_levels("good", "bad")
    good, _, bad, bad_too = scenarios
    made = [*failed("bad1"), entry(1, 0, scenario="good1")]
    assert not out_of_reach(bad, scenarios, made)
    made += failed("bad2")
    assert out_of_reach(bad, scenarios, made) and out_of_reach(bad_too, scenarios, made)
    assert not out_of_reach(good, scenarios, made)
    assert not out_of_reach(bad, scenarios, [*made, entry(3, 0, scenario="bad2")])


def test_rounds_that_were_not_tried_are_counted_apart_from_those_to_go() -> None:
    run = prepared({})
    run.plan.scenarios = of_levels("good", "bad")
    run.rounds = [Round(number, 0, scenario.id) for number, scenario in enumerate(run.plan.scenarios * 2)]
    made = [entry(0, 0, scenario="good1"), entry(1, 0, scenario="good2")]
    made += [replace(one, round=one.round + 2) for one in failed("bad1", "bad2")]
    done = [*made, entry(4, 0, scenario="good1"), entry(5, 0, scenario="good2")]
    (reported,) = lacking(run, done)
    assert reported.startswith("2 of 8 rounds were not tried")
    assert "2 of 8 rounds to go" in lacking(run, made)[1]


def test_a_counting_pass_that_has_nothing_to_count_ends_the_run_at_once() -> None:
    nothing = RoundWarning(NOTHING_SEEN, "0 requests were traced instead of about 196", "see docs/traces.md")
    assert stops([entry(-1, -1, nothing)], Round(0, 0, "a"))
    assert not stops([entry(0, 0, nothing)], Round(1, 0, "a"))


def prepared(faults: dict[str, Any], rounds: int = 2) -> Any:
    injected = [Fault.model_validate({kind: given}) for kind, given in faults.items()]
    scenarios = [SimpleNamespace(id="a", faults=injected)]
    plan = SimpleNamespace(scenarios=scenarios)
    study, folder = SimpleNamespace(boundary=None), SimpleNamespace(path=Path("/runs/x"))
    return SimpleNamespace(study=study, plan=plan, rounds=[None] * rounds, folder=folder)


NO_FAULT: dict[str, Any] = {"abort": {"percentage": 0}}


@pytest.mark.parametrize(
    ("made", "faults", "message"),
    [
        ([entry(0, 0), entry(1, 1)], NO_FAULT, []),
        ([entry(0, 0), entry(1, 1, LATE)], NO_FAULT, []),
        ([entry(0, 0), entry(1, 1, IDLE)], NO_FAULT, ["in 1 round no call was made"]),
        ([entry(0, 0), entry(1, 1, LATE, IDLE)], NO_FAULT, ["in 1 round no call was made"]),
        ([entry(0, 0), entry(1, 1, IDLE), entry(2, 1, IDLE)], NO_FAULT, ["in 2 rounds no call was made"]),
        ([entry(0, 0, LATE), entry(1, 1, LATE)], NO_FAULT, ["1 of 1 scenario has no valid round"]),
        ([entry(0, 0), entry(1, 1, USELESS)], NO_FAULT, ["in 1 round every call failed"]),
        ([entry(0, 0), entry(1, 1, USELESS)], {"abort": {"percentage": 100}}, []),
        ([entry(0, 0, GONE)], NO_FAULT, ["the run was stopped with 1 of 2 rounds to go", "1 of 1 scenario"]),
    ],
)
def test_a_run_that_is_not_what_was_asked_for_says_what_it_lacks(
    made: list[Entry], faults: dict[str, Any], message: list[str]
) -> None:
    found = lacking(prepared(faults), made)
    assert len(found) == len(message)
    assert all(part in sentence for part, sentence in zip(message, found, strict=True))


def test_the_remedy_of_a_stopped_run_names_its_folder() -> None:
    assert "patternbench resume /runs/x --retry-invalid" in lacking(prepared(NO_FAULT), [entry(0, 0, GONE)])[0]


def requested(monkeypatch: pytest.MonkeyPatch, answers: list[bool], system: dict[str, Any]) -> tuple[str | None, int]:
    """What is said of a system that answers so one time after the other, and how often was waited."""
    left, pauses = iter(answers), []
    problem = [Problem("does not answer: refused", value="http://x")]
    monkeypatch.setattr(health_probe, "unready", lambda *_: [] if next(left) else problem)
    return HealthProbe(Inputs(Path()), pauses.append)(declared(system)), len(pauses)


def test_a_system_that_is_back_within_a_moment_is_not_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requested(monkeypatch, [False, False, True], {"url": "http://x"}) == (None, 2)


def test_a_system_that_stays_away_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    message, pauses = requested(monkeypatch, [False] * TRIES, {"urls": [{"url": "http://x", "weight": 1}]})
    assert message == "http://x does not answer: refused"
    assert pauses == TRIES - 1


def test_a_system_of_the_lab_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert requested(monkeypatch, [], {"name": "target"}) == (None, 0)
