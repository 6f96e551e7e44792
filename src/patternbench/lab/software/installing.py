"""Carries out the commands that bring what is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator

from patternbench.lab.software.needs import Need
from patternbench.terms.problems import InputError, Problem


def install(needs: Iterable[Need]) -> None:
    """Run the commands of every need that is not met and has any, each once.

    A need whose command fails keeps none of the others from being met. Raises InputError with all that failed.
    """
    tried: set[tuple[str, ...]] = set()
    problems = [problem for need in needs if not need.met for problem in _bring(need, tried)]
    if problems:
        raise InputError(problems)


def _bring(need: Need, tried: set[tuple[str, ...]]) -> Iterator[Problem]:
    """Run a need's commands that were not tried yet, up to the first one that fails."""
    for command in need.install:
        if command in tried:
            continue
        tried.add(command)
        if problem := _run(command):
            yield problem
            return


def _run(command: tuple[str, ...]) -> Problem | None:
    print("$", *command, file=sys.stderr)
    try:
        code = subprocess.run(command, check=False, stdout=sys.stderr).returncode
    except OSError as error:
        return Problem(f"the command cannot be run: {error.strerror}", value=" ".join(command))
    return Problem(f"the command ended with code {code}", value=" ".join(command)) if code else None
