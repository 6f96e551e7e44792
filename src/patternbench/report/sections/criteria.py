"""The objectives and limits of a run's recommendation, the same for its report and for the command ``recommend``."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from pathlib import Path

from patternbench.analyze.recommend.recommendation import Criteria
from patternbench.observe.registry import aim_of
from patternbench.plan.expand import factors_of_stored
from patternbench.plan.factors import Factors
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.report.choice_rule import choice_rule_of
from patternbench.report.labels import units_of_observers
from patternbench.report.model import looks_of
from patternbench.study.load import loads
from patternbench.study.models import Study
from patternbench.study.text.files import read_text
from patternbench.study.watching import NOTHING_ASKED, Watch
from patternbench.terms.factors import FactorTable

DEFAULT = Criteria(objectives=("minimise call_success_p95",), limits=("failure_rate <= 1%",))
"""What a recommendation optimises if the study doesn't say; the report names the assumption."""


def criteria_of(study: Study, factors: Factors, columns: Collection[str]) -> Criteria:
    """Return the criteria of a study, over the factors that vary. ``recommend`` decides which of them are conditions.

    A study without one gets the aim of an observer, found by the columns of the rounds, or else the default. Where
    rounds stop once the choice is known, they have that rule and its margin.
    """
    requested = study.recommend or aim_of(columns)
    stated = (
        replace(DEFAULT, objectives=tuple(requested.objectives), limits=tuple(requested.subject_to))
        if requested
        else DEFAULT
    )
    by = tuple(name for name, factor in factors.items() if factor.varies)
    rule = choice_rule_of(study)
    margin = rule.margin if rule else stated.margin
    return replace(stated, by=by, factors=known_of(factors, study.watch), margin=margin, stopped_by=rule)


def known_of(factors: Factors, watch: Watch = NOTHING_ASKED) -> FactorTable:
    """Return the factors of a run, with the units of its observers' responses, as analyses use them."""
    return FactorTable.of((factor.as_json() for factor in factors.values()), units_of_observers(watch))


def factors_of_run(run: RunFolder) -> list[dict[str, object]]:
    """Return the factors of a run as plain rows, read from its plan; none for a folder that isn't a run's."""
    if not run.plan.is_file():
        return []
    return [factor.as_json() for factor in factors_of_stored(stored.plan(run)).values()]


def looks_of_run(path: Path) -> int:
    """Return at how many looks at most a run asked whether its choice is known; 1 for any other run or table."""
    run = RunFolder(path)
    return looks_of(stored.manifest(run).rounds) if run.plan.is_file() and run.manifest.is_file() else 1


def criteria_of_run(path: Path, columns: Iterable[str]) -> Criteria | None:
    """Return the criteria of a run's study, whose rounds have these columns; None for a folder that isn't a run's.

    Raises InputError for an unreadable study.
    """
    run = RunFolder(path)
    if not (run.study.is_file() and run.plan.is_file()):
        return None
    return criteria_of(loads(read_text(run.study), str(run.study)), factors_of_stored(stored.plan(run)), list(columns))
