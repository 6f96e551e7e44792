"""Carries out the commands that bring what is missing."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable

from patternbench.lab.needs import Need
from patternbench.study.problems import InputError, Problem


def install(needs: Iterable[Need]) -> None:
    """Run the commands of every need that is not met and has any, each once; raises InputError when one fails."""
    commands = [command for need in needs if not need.met for command in need.install]
    for command in dict.fromkeys(commands):
        print("$", *command, file=sys.stderr)
        _run(command)


def _run(command: tuple[str, ...]) -> None:
    try:
        code = subprocess.run(command, check=False, stdout=sys.stderr).returncode
    except OSError as error:
        raise InputError(Problem(f"the command cannot be run: {error.strerror}", value=" ".join(command))) from None
    if code:
        raise InputError(Problem(f"the command ended with code {code}", value=" ".join(command)))
