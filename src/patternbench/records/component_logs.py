"""The logs of components while they were measured: kept for each round, unchanged and compressed."""

from __future__ import annotations

import gzip
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from patternbench.records.folder import RunFolder, replace_durably


def keep(run: RunFolder, round_name: str, logs: Mapping[str, Sequence[Path]]) -> None:
    """Keep the files of each component, given by its name; raises OSError, leaving nothing, when the disk is full."""
    kept = run.component_logs_of(round_name)
    draft = kept.with_name(f"{round_name}.tmp")
    shutil.rmtree(draft, ignore_errors=True)
    try:
        for component, files in logs.items():
            (draft / component).mkdir(parents=True)
            for file in files:
                _compress(file, draft / component / f"{file.name}.gz")
        shutil.rmtree(kept, ignore_errors=True)
        replace_durably(draft, kept)
    finally:
        shutil.rmtree(draft, ignore_errors=True)


def kept_of(run: RunFolder, round_name: str) -> dict[str, list[Path]]:
    """Return the compressed files of each component of a round; empty when none kept a log."""
    folder = run.component_logs_of(round_name)
    if not folder.is_dir():
        return {}
    return {component.name: sorted(component.iterdir()) for component in sorted(folder.iterdir()) if component.is_dir()}


def _compress(source: Path, target: Path) -> None:
    # No name and no time in the header: the same log gives the same file.
    with source.open("rb") as plain, target.open("wb") as file, gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
        shutil.copyfileobj(plain, packed)
