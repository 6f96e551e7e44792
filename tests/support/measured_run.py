"""The folder of a run as patternbench writes it, without the minutes that measuring takes: its attempts are made up."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from patternbench.lab import systems
from patternbench.plan.expand import Plan, expand
from patternbench.plan.order import Round, rounds_of
from patternbench.plan.scenarios import Scenario
from patternbench.records import attempts, damage, folder, inputs, seals, stored
from patternbench.records.batches import Batch
from patternbench.records.folder import RunFolder, digest
from patternbench.records.journal import DONE, Entry, Journal
from patternbench.records.stored import Manifest
from patternbench.run.prepared_run import planned
from patternbench.speed import samples
from patternbench.study.load import loads

STUDY = """\
patternbench: 1
name: made-up
system: target
rounds: 4
workload: {closed: {users: [2, 4], successes: 1}, request: {path: /}}
strategies:
  - {client: native, baseline: {}}
  - {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 2ms}}}}
recommend: {objectives: [minimise p95], subject_to: [failure_rate <= 1%]}
claims:
  - {says: a retry waits, response: p95, change: higher, from: {strategy: baseline}, to: {strategy: retry}}
"""
CALLS = 12
STARTED = "2026-01-01T00:00:{:02d}Z"


Slowness = Callable[[Scenario], float]


def retries_are_slow(scenario: Scenario) -> float:
    """How much longer a call takes with a retry."""
    return 1.6 if scenario.levels["strategy"] == "retry" else 1.0


def measured_run(
    path: Path,
    seed: int = 1,
    blocks: int = 4,
    slowness: Slowness = retries_are_slow,
    text: str = STUDY,
    *,
    study_folder: Path | None = None,
    commit: str | None = None,
) -> RunFolder:
    """Write a run of a study, which has four scenarios; of another seed its numbers are others.

    The folder of the study has the user's own systems, of which the run keeps a copy.
    """
    study = loads(text, "study.yaml")
    system = systems.file_of(study.system, study_folder)
    plan = expand(study, system) if system else expand(study)
    rounds = rounds_of(plan.scenarios, blocks, study.seed, study.order)
    run = RunFolder(path)
    run.create()
    folder.write_text(run.path / "study.yaml", text)
    noted = Manifest(manifest=1, study="made-up", study_file="study.yaml", left_out={}, started=STARTED.format(seed))
    copied = inputs.keep(run, [systems.own_name(study.system)], study_folder) if study_folder else {}
    stored.write_manifest(
        run, noted.model_copy(update={"files": copied, "git_commit": commit}) if commit or copied else noted
    )
    stored.write_plan(run, planned(plan, rounds, study))
    _write_rounds(run, plan, rounds, random.Random(seed), slowness)
    run.unlock()
    return run


def _write_rounds(run: RunFolder, plan: Plan, rounds: list[Round], draw: random.Random, slowness: Slowness) -> None:
    journal = Journal(run.journal, seals.of_run(run))
    scenarios = {scenario.id: scenario for scenario in plan.scenarios}
    for round_ in rounds:
        journal.append(_measured(run, round_, scenarios[round_.scenario], draw, slowness))


def _measured(run: RunFolder, round_: Round, scenario: Scenario, draw: random.Random, slowness: Slowness) -> Entry:
    """Write the records of a round, and return its line."""
    name = f"{round_.index:05d}"
    rows = _write_attempts(run.attempts_of(name), scenario, draw, slowness(scenario))
    probed = pd.DataFrame({"second": [-0.1, 9.0], "cpu": [0, 0], "cpu_time": [draw.uniform(0.9, 1.1), 1.0]})
    samples.write(run.observed_of(name) / "speed", probed)
    log = run.component_logs_of(name) / "shop" / "shop.log.gz"
    log.parent.mkdir(parents=True)
    log.write_bytes(gzip.compress(f"round {name}\n".encode()))
    (run.load / name).mkdir(parents=True)
    acted = {"policies": [{"policy": "retry", "acted": draw.randrange(100)}]}
    (run.load / name / "summary.json").write_text(json.dumps(acted))
    sha256, records = digest(run.attempts_of(name)), damage.hashes(run, name)
    known = (round_.index, round_.block, round_.scenario, DONE, name, 1e9 + 10 * round_.index, draw.uniform(1, 2))
    return Entry(*known, rows, cpu_seconds=draw.uniform(0.1, 0.2), sha256=sha256, records=records)


def _write_attempts(path: Path, scenario: Scenario, draw: random.Random, slower: float) -> int:
    users = int(str(scenario.levels.get("users", 2)))
    user, call = np.repeat(np.arange(users), CALLS), np.tile(np.arange(CALLS), users)
    ones = np.ones(len(user), dtype=np.int64)
    took = np.array([int(1000 * users * slower * draw.uniform(0.8, 1.2)) for _ in user])
    status = (200 * ones).astype(np.int16)
    batch = Batch(user, call, ones, 10_000 * call, took, np.zeros(len(user), np.int8), status)
    attempts.write(path, attempts.from_batches([batch], warm_up=False))
    return len(user)
