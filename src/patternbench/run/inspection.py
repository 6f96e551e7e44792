"""What can be said of a study's files, commands and secrets without starting anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from patternbench.plan.expand import Plan
from patternbench.records.inputs import Inputs
from patternbench.study import secrets
from patternbench.study.document import Document
from patternbench.study.files import problem_of
from patternbench.study.load import dotted
from patternbench.study.models import ClientAt, Study
from patternbench.study.parts import FileName
from patternbench.study.problems import InputError, Problem

LARGEST = 1_000_000_000
"""Bytes of a file that a study names: the load engine reads it as a whole."""


def file_problems(plan: Plan, inputs: Inputs) -> list[Problem]:
    """What is wrong with the files that a study names: missing, no regular file, too large."""
    places: dict[str, str] = {}
    for scenario in plan.scenarios:
        for path, leaf in scenario.leaves():
            if isinstance(leaf, FileName):
                places.setdefault(str(leaf), ".".join(path))
    return [found for name, place in places.items() for found in _of_file(name, place, inputs)]


def _of_file(name: str, place: str, inputs: Inputs) -> Iterator[Problem]:
    path = inputs.path(name)
    found = problem_of(path)
    if found:
        yield replace(found, file="", path=place, value=name)
    elif path.stat().st_size > LARGEST:
        yield Problem("is too large", path=place, value=name, allowed=f"at most {LARGEST:,} bytes")


def commands(clients: Mapping[str, ClientAt]) -> dict[str, list[str]]:
    """The commands that a run of the study would start because its author says so, by client."""
    return {name: list(at.command) for name, at in clients.items() if at.command}


def refuse_commands(study: Study) -> None:
    """Raise InputError naming each command of a study that may start none."""
    found = commands(study.clients)
    hint = "read what it does, then leave out --no-commands"
    if found:
        raise InputError(
            [
                Problem("starts a command", f"clients.{name}.command", value=" ".join(words), hint=hint)
                for name, words in found.items()
            ]
        )


def warnings_of(document: Document) -> list[str]:
    """What a user should know of secrets in a study, one sentence per place."""
    return [
        f"{document.file}:{document.line(path)}: {dotted(path)} holds a secret as it is, and the run keeps the study; "
        "write ${env:NAME}, and `export NAME=...`"
        for path in secrets.literal(document)
    ]
