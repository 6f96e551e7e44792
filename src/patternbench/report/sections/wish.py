"""What the recommendation on a run is asked: one answer for its page and for the command."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from patternbench.analyze.factors import FactorTable
from patternbench.analyze.recommend.recommendation import Wish
from patternbench.observe.registry import aim_of
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factors
from patternbench.records import stored, tables
from patternbench.records.folder import RunFolder
from patternbench.report.labels import units_of_observers
from patternbench.study.files import read_text
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.watching import NOTHING_ASKED, Watch

DEFAULT = Wish(objectives=("minimise call_success_p95",), limits=("failure_rate <= 1%",))
"""What a recommendation optimises where the study does not say; it is said."""


def wish_of(study: Study, factors: Factors, columns: Collection[str]) -> Wish:
    """What a study asks, over the factors that vary; `recommend` decides which of them are given.

    Where it does not say: what an observer of the run aims at, by the columns of its rounds, or the default.
    """
    asked = study.recommend or aim_of(columns)
    said = replace(DEFAULT, objectives=tuple(asked.objectives), limits=tuple(asked.subject_to)) if asked else DEFAULT
    by = tuple(name for name, factor in factors.items() if factor.varies)
    return replace(said, by=by, factors=known_of(factors, study.watch))


def known_of(factors: Factors, watch: Watch = NOTHING_ASKED) -> FactorTable:
    """What analyses know of a run's factors, and of the units of what its observers were asked for."""
    return FactorTable.of((factor.as_json() for factor in factors.values()), units_of_observers(watch))


def factors_of_run(run: RunFolder) -> list[dict[str, object]]:
    """The factors of a run as plain rows, read off its plan; none for what is no run folder."""
    if not run.plan.is_file():
        return []
    return [factor.as_json() for factor in factors_of_stored(stored.plan(run)).values()]


def wish_of_run(path: Path) -> Wish | None:
    """The wish of a run's study, None for what is no run folder; raises InputError for one that cannot be read."""
    run = RunFolder(path)
    if not (run.study.is_file() and run.plan.is_file()):
        return None
    columns = tables.columns_of(run.rounds) if run.rounds.is_file() else ()
    return wish_of(loads(read_text(run.study), str(run.study)), factors_of_stored(stored.plan(run)), columns)
