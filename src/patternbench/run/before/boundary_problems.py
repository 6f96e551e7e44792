"""Whether the search of a study can find anything: its response says yes or no, and a fault ends before the load."""

from __future__ import annotations

from collections.abc import Iterator

from patternbench.observe.registry import responses_of
from patternbench.plan.doses import configurations, dose_field
from patternbench.plan.expand import Plan
from patternbench.plan.scenarios import Scenario
from patternbench.report.held_rounds import condition, having
from patternbench.study.boundary import Boundary
from patternbench.study.model.levels import only
from patternbench.study.models import Study
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import Problem, did_you_mean

OF = "boundary.of"
AFTER_A_FAULT = ("recovered", "recovery_time", "affected_rate", "amplification_peak", "amplification_after")
"""Responses that a round has only if a fault began in it, and ended before its load did."""
OF_A_BLOCK = ("goodput_lost",)
"""Responses that are known only when the block is over, too late for a search."""


def problems(study: Study, plan: Plan, known: list[str]) -> Iterator[Problem]:
    """Yield the problems of a study's search; ``known`` are its responses."""
    if study.boundary is None:
        return
    try:
        response = condition(study.boundary.of).response
    except DataError as error:
        for problem in error.problems:
            yield Problem(problem.what.rstrip("."), OF, hint="write `recovered`, or a limit: `failure_rate <= 1 %`")
        return
    if response not in known:
        yield Problem(
            f"`{response}` isn't a response", OF, allowed=", ".join(known), hint=did_you_mean(response, known)
        )
        return
    if response in OF_A_BLOCK:
        yield Problem(f"`{response}` is known only when a block is over", OF, hint="search `recovered`")
    yield from _undecided(study, study.boundary, response)
    yield from _left_out(study, study.boundary, plan)
    yield from _without_a_fault(plan, response)
    yield from _claims(study, study.boundary, plan)


def _claims(study: Study, boundary: Boundary, plan: Plan) -> Iterator[Problem]:
    """Yield the sides of claims that are not one configuration."""
    every = configurations(plan.scenarios, dose_field(study, boundary).factor)
    for index, claim in enumerate(boundary.claims):
        for side, levels in (("from", claim.from_), ("to", claim.to)):
            found = having(every, levels)
            if len(found) != 1:
                message = f"names {len(found)} configurations of the search"
                hint = "name levels that one of them has; `patternbench plan` lists them"
                yield Problem(message, f"boundary.claims[{index}].{side}", allowed="one configuration", hint=hint)


def _undecided(study: Study, boundary: Boundary, response: str) -> Iterator[Problem]:
    """Yield that a response alone isn't a yes or no."""
    yes_or_no = [one.name for one in responses_of(study.watch) if one.kind == "percent" and one.of == "rounds"]
    if response == boundary.of.strip() and response not in yes_or_no:
        hint = f"write a limit, such as `{response} <= 1`"
        yield Problem(f"`{response}` isn't a yes or no by itself", OF, allowed=", ".join(yes_or_no), hint=hint)


def _left_out(study: Study, boundary: Boundary, plan: Plan) -> Iterator[Problem]:
    """Yield that a design leaves out doses, which a search may need."""
    every = configurations(plan.scenarios, dose_field(study, boundary).factor)
    if any(len(one.scenarios) < len(boundary.doses) for one in every):
        hint = "leave out no level of the dose, and no `fraction`, `latin_hypercube` or `zip` of it"
        yield Problem("leaves out doses of the search", "design", hint=hint)


def _without_a_fault(plan: Plan, response: str) -> Iterator[Problem]:
    """Yield that in some scenario no fault begins and ends while the load goes on."""
    if response in AFTER_A_FAULT and not all(_ends_in_time(one) for one in plan.scenarios):
        message = f"`{response}` needs a fault that begins and ends while the load goes on"
        hint = "give a fault a window, such as `when: {from: 8s, for: 2s}`, and time after it"
        yield Problem(message, OF, hint=hint)


def _ends_in_time(scenario: Scenario) -> bool:
    lasting = only(scenario.workload.lasting)
    windows = [window for fault in scenario.faults if fault.acts for window in fault.windows]
    ended = [window.ends_us for window in windows if window.begins_us > 0 and window.ends_us is not None]
    return bool(ended) and (lasting is None or max(ended) < lasting.us)
