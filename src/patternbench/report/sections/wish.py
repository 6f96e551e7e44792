"""What the recommendation on a run is asked: one answer for its page and for the command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from patternbench.analyze.recommend.recommendation import Wish
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.study.files import read_text
from patternbench.study.load import loads
from patternbench.study.models import Study

DEFAULT = Wish(objectives=("minimise call_success_p95",), limits=("failure_rate <= 1%",))
"""What a recommendation optimises where the study does not say; it is said."""


def wish_of(study: Study, factors: Mapping[str, Sequence[Any]]) -> Wish:
    """What a study asks (or the default), over the factors that vary; `recommend` decides which of them are given."""
    asked = study.recommend
    said = replace(DEFAULT, objectives=tuple(asked.objectives), limits=tuple(asked.subject_to)) if asked else DEFAULT
    return replace(said, by=tuple(name for name, levels in factors.items() if len(levels) > 1))


def wish_of_run(path: Path) -> Wish | None:
    """The wish of a run's study, None for what is no run folder; raises InputError for one that cannot be read."""
    run = RunFolder(path)
    if not (run.study.is_file() and run.plan.is_file()):
        return None
    return wish_of(loads(read_text(run.study), str(run.study)), stored.plan(run)["factors"])
