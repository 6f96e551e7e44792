"""What the rounds of a run rest on, as short hashes: each line of a journal has those of the time of its round.

They tell a line of another run, and a plan, a manifest or a study that was changed after the rounds were measured.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from patternbench.records.folder import RunFolder, digest, read_json
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.sealed import content_hash

DIGITS = 16
"""Hex digits of a hash that tells whether something was changed."""
STUDY, PLAN, MANIFEST = "study", "plan", "manifest"
_FACTORS = "factors"
_OF_PLAN = (_FACTORS, "scenarios", "left_out")
_OF_MANIFEST = (
    *("patternbench", "study", "seed", "rounds", "objective_s", "derived", "started", "git_commit", "engine", "envoy"),
    *("machine", "disturbances", "left_out", "files", "certificates_verified"),
    "simulated",
)
"""The fields that no part of a run changes once it has begun. A field must never join or leave them: runs that were
sealed without it would count as changed. One that a file does not have is passed over, as ``simulated`` is in the
manifest of every run that was measured."""

Seal = Mapping[str, str]
"""The hashes of a run's study, plan and manifest."""


def of_run(run: RunFolder) -> dict[str, str]:
    """Return the hashes of a run's files; that of a file that is not there is empty. Raises InputError."""
    study = digest(run.study)[:DIGITS] if run.study.is_file() else ""
    return {STUDY: study, PLAN: _fixed(run.plan, _OF_PLAN), MANIFEST: _fixed(run.manifest, _OF_MANIFEST)}


def of_one_run(one: Seal, other: Seal) -> bool:
    """Whether two seals are of the same run, whatever became of its study's text."""
    return all(one.get(name) == other.get(name) for name in (PLAN, MANIFEST))


def refusal(run: RunFolder, noted: Seal, now: Seal, hint: str) -> InputError:
    """Return the error that names each file that is not the one that the rounds were measured with."""
    files = {PLAN: run.plan, MANIFEST: run.manifest}
    changed = [file for name, file in files.items() if noted.get(name) != now.get(name)]
    message = "was changed after the rounds of this run were measured, or is that of another run"
    return InputError([Problem(message, file=str(file), hint=hint) for file in changed])


def short_hash(content: object) -> str:
    """Return a short hash of plain data, independent of the order of its keys."""
    return content_hash(content)[:DIGITS]


def listed(factors: object) -> object:
    """Return the factors of a plan as a list; plans of before map names to levels, until they are written again."""
    if not isinstance(factors, Mapping):
        return factors
    return [{"name": name, "levels": levels} for name, levels in factors.items()]


def _fixed(path: Path, names: Sequence[str]) -> str:
    """Return the hash of these fields of a JSON file."""
    tree = read_json(path) if path.is_file() else None
    if not isinstance(tree, dict):
        return ""
    return short_hash({name: listed(tree[name]) if name == _FACTORS else tree[name] for name in names if name in tree})
