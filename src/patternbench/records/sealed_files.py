"""JSON files of a run that carry their own hash, since no line of its journal has it: what a model said of the run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from patternbench.records.folder import read_json, write_json
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.sealed import SEAL, is_whole, sealed


def write(path: Path, content: Mapping[str, object], of: str) -> None:
    """Write plain data with its hash; ``of`` names the run that it is of. Raises OSError."""
    write_json(path, sealed(content, of))


def read(path: Path, of: str, hint: str) -> object:
    """Return the data without its hash. Raises InputError where it isn't what was written for this run.

    Files of before have no hash.
    """
    tree = read_json(path)
    if not isinstance(tree, dict):
        return tree
    if is_whole(tree, of) is False:
        message = "was changed after it was written, or is that of another run"
        raise InputError(Problem(message, file=str(path), hint=hint))
    return {name: value for name, value in tree.items() if name != SEAL}
