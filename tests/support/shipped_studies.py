"""The studies that are shipped, in both forms where they have two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from tests.support.studies import ROOT

from patternbench.study.forms import SUFFIX, chosen
from patternbench.study.load import StudyFile, load


@cache
def shipped(pattern: str = "*") -> Sequence[Path]:
    """The paths of shipped studies by name, also of their quick forms, which no file has."""
    return tuple(sorted(_both((ROOT / "studies").glob(f"{pattern}.yaml")), key=lambda path: path.stem))


def _both(paths: Iterator[Path]) -> Iterator[Path]:
    for path in paths:
        yield path
        if load(path).quick:
            yield path.with_stem(path.stem + SUFFIX)


def fields(path: Path) -> dict[str, object]:
    """What is written in a study, in the form that its path means."""
    return chosen(StudyFile.read(path).as_written).fields
