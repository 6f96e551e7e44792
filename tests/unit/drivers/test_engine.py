"""A round of the load engine, from its job to what counts: an engine that is made up prints its lines."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.support.made_up_engine import MadeUp, ending, made_up, over
from tests.unit.drivers.test_jobs import SET_UP, task

from patternbench.drivers import engine, jobs
from patternbench.drivers.driver import DriverError, Task
from patternbench.drivers.engine import EngineDriver, JobError
from patternbench.lab.host.processes import SilentProcessError
from patternbench.observe.warning import RoundWarning
from patternbench.records import attempts
from patternbench.study.models import Lateness
from patternbench.terms.problems import InputError

ONE_REQUEST = "workload: {closed: {users: 2, successes: 3, max_attempts: 5}}"
SHARE = {"percentage": 5, "floor": "3ms"}
LATE = {"name": "late_schedule", "message": "it was late", "remedy": "allow more lateness", "invalidates": True}
FULL = {"name": "full", "message": "too many", "remedy": "raise max_in_flight", "invalidates": True}
WARNINGS = [LATE, FULL]
ATTEMPT = {"group": "all", "step": "sign-in", "start_us": 0, "end_us": 5, "outcome": "answered", "success": True}
REFUSED = {"path": "time_limit_us", "message": "is too short", "value": "5", "allowed": "at least 10"}


@pytest.fixture(autouse=True)
def nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    made_up(monkeypatch)


def driven(folder: Path, requested: Task) -> Any:
    return EngineDriver(folder / "load", folder / "logs").drive(requested, folder / "r-0.parquet")


def test_a_round_is_the_job_that_was_handed_over_and_what_the_engine_says_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[int] = []
    begun: list[int] = []
    requested = replace(
        task(ONE_REQUEST, warm_up="2s"), on_progress=lambda message: heard.append(message.requests), begun=begun.append
    )
    ending(monkeypatch, [{"progress": {"requests": 4, "elapsed_us": 1_000_000}}, {"progress": {"requests": 8}}, over()])
    now = time.monotonic_ns()
    found = driven(tmp_path, requested)
    assert MadeUp.jobs == [json.loads(json.dumps(jobs.job(requested).job))]
    assert (MadeUp.commands, heard, MadeUp.asked_to_end) == ([["load", "load", "--job"]], [4, 8], 0)
    assert (found.rows, found.cpu_seconds, found.calls, found.shortfall) == (9, 0.25, 7, None)
    assert (found.began_ns, found.measured_from_ns, found.warm_up_rows) == (4_000_000, 2_004_000_000, 2)
    assert len(begun) == 1 and begun[0] == pytest.approx(now + 1_000_000_000, abs=9e8)
    assert len(attempts.read(tmp_path / "r-0.parquet", ["user"])) == 6
    assert [path.name for path in (tmp_path / "load/r-0").iterdir()] == ["trace.json"], "the attempts were moved"


def test_a_warm_up_that_answers_end_is_as_long_as_the_engine_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [over()])
    found = driven(tmp_path, replace(task(ONE_REQUEST, warm_up="2s"), settles=True))
    assert found.measured_from_ns == 4_000_000 + 700_000


@pytest.mark.parametrize(
    ("lateness", "bounded"), [({"floor": "3ms"}, True), (None, False), ({"percentage": 5}, False), (SHARE, False)]
)
def test_lateness_makes_a_round_invalid_only_where_the_study_bounds_it_for_all_rounds_alike(
    lateness: dict[str, object] | None, bounded: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, [over(doubts=WARNINGS)])
    requested = replace(task(ONE_REQUEST), lateness=Lateness.model_validate(lateness) if lateness else None)
    assert driven(tmp_path, requested).warnings == [
        RoundWarning("late_schedule", "it was late", "allow more with `lateness` in the study", bounded),
        RoundWarning("full", "too many", "raise `in_flight`", True),
    ]


def test_users_that_reached_neither_their_successes_nor_their_attempts_are_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, five = (0, False, True), [(1, False, False)] * 5
    cases = {
        "three successes, and five attempts": ([one] * 3 + five, 0),
        "a success in the warm-up": ([one, one, (0, True, True), *five], 1),
        "four attempts": ([one] * 3 + five[1:], 1),
        "neither": ([one, *five[2:]], 2),
    }
    for case, (rows, left) in cases.items():
        monkeypatch.setattr(MadeUp, "rows", rows)
        ending(monkeypatch, [over()])
        message = f"over its time limit of 20m: {left} users were not finished" if left else None
        assert driven(tmp_path, task(ONE_REQUEST)).shortfall == message, case


def test_a_closed_round_without_a_limit_of_attempts_is_short_by_its_successes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = task("workload: {closed: {users: 2, successes: 4}}")
    for successes, message in ((8, None), (7, "over its time limit of 20m: 1 successes are missing")):
        ending(monkeypatch, [over(successes=successes)])
        assert driven(tmp_path, requested).shortfall == message
    ending(monkeypatch, [over(successes=0)])
    assert driven(tmp_path, task("workload: {open: {rate: 1, duration: 1s}}")).shortfall is None


def test_an_interrupted_round_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [over(interrupted=True)])
    assert driven(tmp_path, task(ONE_REQUEST)).shortfall == "the load engine was interrupted"


def test_a_round_is_ended_as_soon_as_the_system_has_died(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [{"progress": {}}, {"progress": {}}, over(interrupted=True)])
    dead = iter([[], ["shop died"]])
    driven(tmp_path, replace(task(ONE_REQUEST), died=lambda: next(dead)))
    assert MadeUp.asked_to_end == 1


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ([{"progress": {}}], "the load engine died: killed by SIGKILL"),
        ([{"error": "no file"}], "the load engine gave up: no file"),
        ([{"other": 1}], 'the load engine gave up: {"other":1}'),
        ([SilentProcessError()], "the load engine hung: it printed nothing for 15 s"),
        (["no JSON"], "the load engine broke its contract: "),
        ([{"problems": [REFUSED]}], "the load engine refused its job: time_limit_us: is too short"),
    ],
)
def test_an_engine_that_does_not_finish_fails_the_round_with_its_cause(
    message: list[Any], cause: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ending(monkeypatch, message)
    with pytest.raises(DriverError) as failed:
        driven(tmp_path, task(ONE_REQUEST))
    assert str(failed.value).startswith(cause)


def test_what_a_set_up_captured_is_in_the_job_of_its_round(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    captured = [{**ATTEMPT, "captured": {"token": "t-1", "ids": [1, 2]}}, {**ATTEMPT, "captured": {"token": "t-2"}}]
    monkeypatch.setattr(MadeUp, "trace", captured)
    ending(monkeypatch, [over()], [over()])
    requested = task(SET_UP)
    driven(tmp_path, requested)
    set_up, job = MadeUp.jobs
    made = jobs.set_up(requested)
    assert made is not None and set_up == json.loads(json.dumps(made.job))
    assert job["values"]["token"] == "t-2"
    assert engine._as_text([1, 2]) == "[1, 2]"


def test_a_set_up_of_which_nothing_was_sent_or_an_answer_was_wrong_fails_the_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = {**ATTEMPT, "success": False, "status": 500, "missed": "the status", "body": "a  b\n" + "x" * 400}
    cases = {
        "nothing": ([], "the set-up failed: nothing of it was sent"),
        "no answer": (
            [ATTEMPT, {**ATTEMPT, "success": False, "outcome": "timeout"}],
            "the set-up failed at `sign-in` (timeout): no answer",
        ),
        "wrong": ([wrong], f"the set-up failed at `sign-in` (500): the status; the answer: a b {'x' * 295}…"),
    }
    for case, (trace, cause) in cases.items():
        monkeypatch.setattr(MadeUp, "trace", trace)
        ending(monkeypatch, [over()])
        with pytest.raises(DriverError) as failed:
            driven(tmp_path, task(SET_UP))
        assert str(failed.value) == cause, case
    ending(monkeypatch, [{"problems": [REFUSED]}])
    with pytest.raises(DriverError, match="the load engine refused its job: time_limit_us: is too short"):
        driven(tmp_path, task(SET_UP))


def test_problems_that_the_engine_finds_are_reported_where_the_study_has_their_fields(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requested = task(SET_UP)
    step = {"path": "groups[0].journeys[0].steps[0].path", "message": "is no path", "value": '"auth"'}
    ending(monkeypatch, [{"problems": [step]}], [{"problems": [REFUSED]}])
    first, second = engine.check(requested, tmp_path)
    assert (first.path, first.message, first.value, first.allowed) == (
        "workload.set_up.steps[0].path",
        "is no path",
        "auth",
        "",
    )
    assert (second.path, second.value, second.allowed) == ("time_limit_us", 5, "at least 10"), "which no study says"
    assert MadeUp.commands == [["check", "load", "--check"], ["check-1", "load", "--check"]]


def test_a_check_that_breaks_off_is_one_problem_of_the_workload(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for message, why in (([{"error": "no memory"}], "no memory"), ([], "killed by SIGKILL")):
        ending(monkeypatch, message)
        with pytest.raises(InputError) as refused:
            engine.check(task(ONE_REQUEST), tmp_path)
        (problem,) = refused.value.problems
        assert (problem.path, problem.message) == ("workload", f"the load engine can't check its job: {why}")


def test_a_job_error_names_every_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ending(monkeypatch, [{"problems": [REFUSED, {"path": "seed", "message": "is no number"}]}])
    with pytest.raises(JobError, match=r"^time_limit_us: is too short; seed: is no number$"):
        engine.run({}, tmp_path, tmp_path)
