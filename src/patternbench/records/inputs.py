"""The files that a study names: first next to the study, and once its run has begun as copies in the run's folder.

A round reads only the copies, so that the measured files stay those of the manifest, whatever happens to the
originals.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from patternbench.records.folder import RunFolder, digest
from patternbench.records.stored import KeptFile
from patternbench.terms.problems import InputError, Problem

SHORT = 12
"""Hex digits of a copy's name that tell it from another of the same name."""


@dataclass(frozen=True)
class Inputs:
    """Where files are: copies by the name that the study gives them, all others next to the study."""

    study_folder: Path
    copies: Mapping[str, Path] = field(default_factory=dict)

    def path(self, name: str) -> Path:
        """Return the file of that name, as an absolute path."""
        return self.copies.get(name) or (self.study_folder / name).resolve()


def keep(run: RunFolder, names: Iterable[str], study_folder: Path) -> dict[str, KeptFile]:
    """Copy the files into the run's folder; for the manifest, each with its hash, its size and its copy's name."""
    return {name: _kept(run, name, Inputs(study_folder).path(name)) for name in dict.fromkeys(names)}


def _kept(run: RunFolder, name: str, source: Path) -> KeptFile:
    try:
        sha256 = digest(source)
        copy = run.inputs / f"{sha256[:SHORT]}-{source.name}"
        run.inputs.mkdir(exist_ok=True, mode=0o700)
        _copied(source, copy)
        if digest(copy) != sha256:
            raise InputError(Problem("changed while it was copied", file=str(source)))
        return KeptFile(sha256=sha256, bytes=copy.stat().st_size, copied_to=str(copy.relative_to(run.path)))
    except OSError as error:
        raise InputError(Problem(f"cannot be copied: {error.strerror}", file=str(source), value=name)) from None


def _copied(source: Path, copy: Path) -> None:
    """Copy a file for those alone who may read the original."""
    copy.unlink(missing_ok=True)
    copy.touch(mode=0o600)
    shutil.copyfile(source, copy)
    shutil.copymode(source, copy)


def kept(run: RunFolder, noted: Mapping[str, KeptFile], study_folder: Path) -> Inputs:
    """Return the copies that a manifest tells of; raises InputError naming each that is no longer what it was."""
    problems = [problem for name, entry in noted.items() for problem in _changed(run, name, entry)]
    if problems:
        raise InputError(problems)
    return Inputs(study_folder, {name: run.path / entry.copied_to for name, entry in noted.items()})


def by_hash(run: RunFolder, hashes: Mapping[str, str], study_folder: Path) -> Inputs:
    """Return the copies of that content in a run's folder; raises InputError naming each that is not there."""
    files = {name: KeptFile(sha256=sha256, copied_to=_copy_of(run, sha256)) for name, sha256 in hashes.items()}
    return kept(run, files, study_folder)


def _copy_of(run: RunFolder, sha256: str) -> str:
    """Return the name of the copy with a hash, independent of the original's name."""
    copies = sorted(run.inputs.glob(f"{sha256[:SHORT]}-*"))
    return str(copies[0].relative_to(run.path)) if copies else str(Path(run.inputs.name) / sha256[:SHORT])


def _changed(run: RunFolder, name: str, entry: KeptFile) -> list[Problem]:
    copy = run.path / entry.copied_to
    hint = f"put the `{name}` back that the run began with, or begin a new run"
    try:
        sha256 = digest(copy)
    except OSError as error:
        return [Problem(f"the run's copy cannot be read: {error.strerror}", file=str(copy), hint=hint)]
    if sha256 == entry.sha256:
        return []
    return [Problem("the run's copy was changed since the run began", file=str(copy), hint=hint)]
