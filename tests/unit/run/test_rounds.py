"""Rounds are repetitions: each draws with a seed of its own, which the study's seed decides."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from patternbench.drivers.driver import Measured, Task
from patternbench.plan.expand import expand
from patternbench.plan.order import Round
from patternbench.records.folder import RunFolder, write_json
from patternbench.records.inputs import Inputs
from patternbench.run import runner
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: x
seed: {seed}
system: target
workload: {{closed: {{users: 1, successes: 1}}}}
strategies: [{{client: native, baseline: {{}}}}]
"""


class Listener:
    def round_started(self, _: Any) -> None: ...
    def round_progressed(self, _: Any) -> None: ...
    def round_ended(self, _: Any) -> None: ...


def stage(folder: Path) -> Any:
    """A stage on which everything is there and nothing happens."""
    bench = SimpleNamespace(
        targets=["http://127.0.0.1:1"], inject=lambda _: None, own_answers=lambda: 0, endpoints=dict
    )
    return SimpleNamespace(
        bench=lambda _: bench,
        inputs=Inputs(folder),
        dead=list,
        finished_logs=dict,
        drop_client=lambda _: None,
        core=None,
    )


def seeds(folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int, rounds: int = 50) -> list[int]:
    """The seeds that the driver of each round is given."""
    tasks: list[Task] = []

    class Driver:
        def __init__(self, *_: Any) -> None: ...

        def drive(self, task: Task, _: Path) -> Measured:
            tasks.append(task)
            return Measured(rows=1, cpu_seconds=0.0, doubts=[])

    monkeypatch.setattr(runner, "by_engine", lambda *_: True)
    monkeypatch.setattr(runner, "EngineDriver", Driver)
    study = loads(STUDY.format(seed=seed), "x.yaml")
    scenarios = expand(study).scenarios
    run = RunFolder(folder)
    run.create()
    places = [Round(index, index, scenarios[0].id) for index in range(rounds)]
    planned = {"rounds": [place.as_json() for place in places], "factors": {}}
    write_json(run.plan, planned | {"scenarios": [scenario.as_json() for scenario in scenarios]})
    runner.Runner(study, scenarios, run, stage(folder), cast(runner.Listener, Listener())).run(places)
    return [task.seed for task in tasks]


def test_every_round_has_a_seed_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = seeds(tmp_path / "run", monkeypatch, seed=5)
    assert len(found) == 50
    assert len(set(found)) == 50


def test_the_same_study_draws_the_same_seeds_and_another_seed_draws_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, again, other = (seeds(tmp_path / name, monkeypatch, seed) for name, seed in (("a", 5), ("b", 5), ("c", 6)))
    assert first == again
    assert not set(first) & set(other)
