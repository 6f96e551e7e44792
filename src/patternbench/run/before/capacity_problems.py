"""Whether the shares of a study have a capacity that they are of, and whether that can be measured."""

from __future__ import annotations

from collections.abc import Iterator

from patternbench.plan.expand import Plan
from patternbench.plan.shares import any_shares
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError
from patternbench.terms.doses import DoseUnit
from patternbench.terms.problems import Problem

HINT = "add `capacity: {objective: p99 <= 1s}`, which is measured first, or give it: `capacity: {rate: 120/s}`"


def problems(study: Study, plan: Plan) -> Iterator[Problem]:
    """Yield the problems of a study's shares and of its capacity."""
    declared, shares = study.capacity, any_shares(plan.scenarios)
    if shares and declared is None:
        yield Problem("is a share of the capacity, which the study does not name", _place(study), hint=HINT)
    if declared is None:
        return
    if not shares:
        yield Problem("no rate is a share of it", "capacity", hint="write `rate: {share: 70 %}`, or leave it out")
    if declared.rate is None and study.workload.open is None:
        yield Problem(
            "is measured with an `open` workload alone", "capacity", hint="give it: `capacity: {rate: 120/s}`"
        )
    if declared.start > declared.most:
        yield Problem("is above `most`", "capacity.start", value=declared.start, allowed=f"at most {declared.most}")
    yield from _objective_problems(declared.asked)


def _objective_problems(text: str) -> Iterator[Problem]:
    from patternbench.analyze.load.rate_search import parse_objective  # noqa: PLC0415 - scipy is slow to load

    try:
        parse_objective(text)
    except DataError as error:
        for problem in error.problems:
            yield Problem(problem.what.rstrip("."), "capacity.objective", hint=problem.remedy)


def _place(study: Study) -> str:
    """Return where a study says a share: the range of its search, or the rate of its workload."""
    searched = study.boundary is not None and study.boundary.unit is DoseUnit.PERCENT
    return "boundary.between" if searched else f"workload.{study.workload.kind}"
