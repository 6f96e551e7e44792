"""What a round says whose set-up is not answered as expected."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
from tests.support.studies import study

from patternbench.drivers import engine
from patternbench.drivers.driver import DriverError, Task
from patternbench.plan.expand import expand
from patternbench.records.inputs import Inputs
from patternbench.records.load_summaries import TracedAttempt
from patternbench.study.model.system import Endpoint
from patternbench.terms.units import Duration

SIGN_IN = """\
patternbench: 1
name: x
system: target
workload:
  closed: {users: 1, journeys: 1}
  set_up: [{name: login, method: POST, path: /login, json: {password: "${env:PW}"}, expect: {statuses: [201]}}]
  journey: [{path: /}]
strategies: [{client: native, baseline: {}}]
"""


def test_a_set_up_that_fails_shows_the_answer_next_to_the_status_without_the_secret(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PW", "hush-hush")
    answered = TracedAttempt(
        group="set-up",
        step="login",
        start_us=0,
        end_us=1,
        status=422,
        outcome="ok",
        success=False,
        missed="the status is 422, not 201",
        body='{"email": "is taken",\n "password": "hush-hush"}',
    )
    task = Task(
        expand(study(SIGN_IN)).scenarios[0], (Endpoint("http://h"),), Duration(9), Duration(0), 1, 0, Inputs(tmp_path)
    )
    monkeypatch.setattr(engine, "attempts_of", lambda _job, task, _logs: [engine._safe_to_tell(answered, task)])
    with pytest.raises(DriverError) as failed:
        engine.set_up(task, tmp_path)
    assert str(failed.value) == (
        "the set-up failed at `login` (422): the status is 422, not 201; "
        'the answer: {"email": "is taken", "password": "${env:PW}"}'
    )


def test_what_a_set_up_was_answered_is_never_on_a_disk_where_a_killed_run_would_leave_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer may hold a token."""
    places: list[str] = []

    def ran(_job: object, out: Path, *_: object) -> None:
        places.append(str((out / engine.TRACE).readlink().readlink()))
        (out / engine.TRACE).write_text('{"contract": 1, "attempts": []}')

    monkeypatch.setattr(engine, "run", ran)
    assert engine.attempts_of({}, Mock(spec=Task, died=list), tmp_path) == []
    assert places == ["/memfd:patternbench-kept (deleted)"]
