"""The manifest: what was measured, by what, on what."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from patternbench import __version__
from patternbench.lab import machine
from patternbench.lab.config import envoy
from patternbench.lab.software import engine
from patternbench.records import stored
from patternbench.records.stored import KeptFile, Manifest
from patternbench.study import evidence
from patternbench.study.models import Study


def manifest(study: Study, study_file: str, left_out: dict[str, str], copied: dict[str, KeptFile]) -> Manifest:
    """Everything about a run that its results depend on and its plan does not say.

    ``copied`` tells of each file that the study names: its hash, and where the run keeps it.
    """
    return Manifest(
        manifest=stored.VERSION,
        patternbench=__version__,
        study=study.name,
        study_file=str(Path(study_file).resolve()),
        seed=study.seed,
        rounds=evidence.plain(study.rounds),
        objective_s=study.objective.response_time.seconds if study.objective else None,
        derived=study.derived,
        started=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        command=[Path(sys.argv[0]).name, *sys.argv[1:]],
        git_commit=git_commit(Path(study_file).resolve().parent),
        engine=engine.version(),
        envoy=envoy.version(),
        machine=machine.facts(),
        disturbances=[vars(disturbance) for disturbance in machine.disturbances()],
        left_out=left_out,
        files=copied,
        certificates_verified=study.system.verified,
        clients={},
        accounts={},
        limits={},
        images={},
    )


def git_commit(folder: Path) -> str | None:
    """Return the commit checked out where the study lies, read from git's own files; None outside a repository."""
    for directory in (folder, *folder.parents):
        if (directory / ".git").exists():
            return _head(directory / ".git")
    return None


def _head(entry: Path) -> str | None:
    try:
        own, git = _folders(entry)
        head = (own / "HEAD").read_text("utf-8").strip()
        if not head.startswith("ref: "):
            return head
        ref = head.removeprefix("ref: ")
        loose = git / ref
        if loose.exists():
            return loose.read_text("utf-8").strip()
        packed = (git / "packed-refs").read_text("utf-8").splitlines()
        return next((line.split()[0] for line in packed if line.endswith(f" {ref}")), None)
    except (OSError, UnicodeError):
        return None


def _folders(entry: Path) -> tuple[Path, Path]:
    """Return the folder with what is checked out, and that of the whole repository; of a worktree they are two."""
    if entry.is_dir():
        return entry, entry
    own = entry.parent / entry.read_text("utf-8").strip().removeprefix("gitdir: ")
    common = own / "commondir"
    return own, own / common.read_text("utf-8").strip() if common.exists() else own
