"""What of a plan is repeated, and how often: all scenarios, or in a search each configuration at one dose a time."""

from __future__ import annotations

from dataclasses import replace

from patternbench.plan.doses import configurations, dose_field
from patternbench.plan.expand import Plan
from patternbench.study.boundary import FEWEST_TRIED
from patternbench.study.evidence import fewest, most
from patternbench.study.models import Study


def bounds(study: Study) -> tuple[int, int]:
    """Return how many rounds a scenario gets at least and at most; in a search each configuration."""
    if study.boundary is not None:
        return FEWEST_TRIED, study.boundary.max
    return fewest(study.rounds), most(study.rounds)


def repeated(study: Study, expanded: Plan) -> Plan:
    """Return the plan of what is repeated: all scenarios, or in a search each configuration at its middle dose."""
    if study.boundary is None:
        return expanded
    every = configurations(expanded.scenarios, dose_field(study, study.boundary).factor)
    middle = {[*one.scenarios.values()][len(one.scenarios) // 2] for one in every}
    return replace(expanded, scenarios=tuple(one for one in expanded.scenarios if one.id in middle))
