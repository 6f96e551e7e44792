"""Two versions of a service, measured in turn: the study of both, and blocks that are added while it is open."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from patternbench.plan.order import next_block
from patternbench.run.added_rounds import store
from patternbench.run.before.reconfigurations import Reconfigurations
from patternbench.run.prepared_run import PreparedRun
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError, Problem

NAME = "gate"
TAKEN = (
    *("workload", "faults", "strategies", "derived", "seed", "time_limit", "warm_up", "after_start", "objective"),
    *("lateness", "generators", "clients", "speed_probe"),
)
"""What a gate takes of a study: the load and what else a round is, but not what it is compared for."""
OF_ADDRESSES = ("ready", "headers", "ca", "verify", "server_name")
"""What a study says of a running system besides its URL."""


def study_of_both(base: str, head: str, file: StudyFile, blocks: int) -> StudyFile:
    """Return a study that sends the load of another one to two URLs. Raises InputError where they are the same."""
    if base == head:
        hint = "to measure a version against itself, have two of it run"
        raise InputError(Problem("is the same service as --base", "--head", value=head, hint=hint))
    written = file.as_written.fields
    taken = {name: written[name] for name in TAKEN if name in written}
    system = {"url": [base, head], **_reached(written.get("system"))}
    study = {"patternbench": 1, "name": NAME, "system": system, "rounds": blocks, **taken}
    return StudyFile(f"{NAME}.yaml", json.dumps(study, indent=2, ensure_ascii=False) + "\n", file.study_folder)


def _reached(system: object) -> Mapping[str, object]:
    return {name: system[name] for name in OF_ADDRESSES if name in system} if isinstance(system, dict) else {}


def plain_study(path: str, users: int, seconds: int) -> StudyFile:
    """Return the study of a gate that names none: users who wait for their answers ask for one path."""
    closed = {"users": users, "think_time": "20ms", "duration": f"{seconds}s"}
    study = {"workload": {"closed": closed, "request": {"path": path}}, "warm_up": "1s", "system": {"ready": path}}
    return StudyFile(f"{NAME}.yaml", json.dumps(study), Path.cwd())


def grow(prepared: PreparedRun, blocks: int) -> None:
    """Add blocks to a run until it has ``blocks``, in its plan as well as in what is still to do."""
    group = Reconfigurations(prepared.study, prepared.inputs).group
    every = {scenario.id for scenario in prepared.plan.scenarios}
    of_study = (prepared.plan.scenarios, every, prepared.study.seed, prepared.study.order)
    while max((one.block for one in prepared.rounds), default=-1) + 1 < blocks:
        prepared.rounds.extend(next_block(prepared.rounds, *of_study, group=group))
    store(prepared.folder, prepared.rounds)
