"""Checks of a study's files, commands and secrets that start nothing."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from patternbench.plan.expand import Plan
from patternbench.records.inputs import Inputs
from patternbench.study.load import dotted
from patternbench.study.model.parts import FileName
from patternbench.study.models import ClientAt, Study
from patternbench.study.text import secrets
from patternbench.study.text.document import Document
from patternbench.study.text.files import problem_of
from patternbench.study.workload.workloads import Workload
from patternbench.terms.problems import InputError, Problem

LARGEST = 1_000_000_000
"""Bytes of a file that a study names: the load engine reads it as a whole."""


def file_problems(plan: Plan, inputs: Inputs) -> list[Problem]:
    """Problems of the files that a study names: missing, not a regular file, too large."""
    paths: dict[str, str] = {}
    for scenario in plan.scenarios:
        for path, leaf in scenario.leaves():
            if isinstance(leaf, FileName):
                paths.setdefault(str(leaf), dotted(_whole(path)))
    return [problem for name, path in paths.items() for problem in _of_file(name, path, inputs)]


def _whole(path: Iterable[str]) -> tuple[str | int, ...]:
    """Return a leaf's path with the places in lists as numbers."""
    return tuple(int(part) if part.isdecimal() else part for part in path)


def _of_file(name: str, path: str, inputs: Inputs) -> Iterator[Problem]:
    file = inputs.path(name)
    problem = problem_of(file)
    if problem:
        yield replace(problem, file="", path=path, value=name)
    elif file.stat().st_size > LARGEST:
        yield Problem("is too large", path=path, value=name, allowed=f"at most {LARGEST:,} bytes")


def feeder_columns(workload: Workload, inputs: Inputs) -> dict[str, list[str]]:
    """Return the columns of each feeder's file that can be read, by the name that the study gives it."""
    feeders = [workload.feeder, *(group.feeder for group in workload.groups or [])]
    by_feeder = {str(feeder.file): _columns(inputs.path(str(feeder.file))) for feeder in feeders if feeder}
    return {name: columns for name, columns in by_feeder.items() if columns is not None}


def _columns(path: Path) -> list[str] | None:
    if problem_of(path):
        return None
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return next(csv.reader(file), [])
    except (OSError, UnicodeError, csv.Error):
        return None


def commands(clients: Mapping[str, ClientAt]) -> dict[str, list[str]]:
    """Return the commands that a run of the study would start because its author says so, by client."""
    return {name: list(at.command) for name, at in clients.items() if at.command}


def refuse_commands(study: Study) -> None:
    """Raise InputError naming each command of a study that may start none."""
    declared = commands(study.clients)
    hint = "read what it does, then leave out --no-commands"
    if declared:
        raise InputError(
            [
                Problem("starts a command", f"clients.{name}.command", value=" ".join(words), hint=hint)
                for name, words in declared.items()
            ]
        )


def warnings_of(document: Document) -> list[str]:
    """Warnings about secrets in a study, one sentence per place."""
    return [
        f"{document.file}:{document.line(path)}: {dotted(path)} contains a secret, which a run keeps in the "
        "study and plan.json of its folder, readable only by your account; write ${env:NAME}, and `export NAME=...`"
        for path in secrets.literal(document)
    ]


def holds_secrets(document: Document) -> bool:
    """Whether any secret is written out in a study."""
    return any(secrets.literal(document))
