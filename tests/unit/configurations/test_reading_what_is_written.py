"""What ``apply`` writes is read back: every line is understood, and policies that are said exactly are the same."""

from __future__ import annotations

import pytest
from tests.support.configuration_cases import cases

from patternbench.configurations import registry
from patternbench.configurations.delays import pauses as delays_us
from patternbench.configurations.failures import Failures, failures
from patternbench.configurations.fidelity import Fidelity
from patternbench.configurations.form import GuardedService, WrittenConfiguration
from patternbench.configurations.patterns import Patterns
from patternbench.configurations.reading import summary
from patternbench.configurations.reading.layer import Layer
from patternbench.configurations.reading.notes import NoteKind
from patternbench.configurations.reading.products import Configurations
from patternbench.study.model.tree import plain
from patternbench.study.workload.policies import Policy, StackedRetry

READABLE = [name for name in registry.MODULES if name != "failsafe-go"]
"""The forms that are files of configuration; one is source code."""
CASES = [pytest.param(form, case, id=f"{form} {case}") for form in READABLE for case in cases(form)]


def read_back(form: str, written: WrittenConfiguration) -> list[Layer]:
    found = Configurations()
    found.add(registry.form(form).file, written.body)
    return found.layers([])


def as_a_product_sees_it(policy: Policy) -> object:
    """A policy as plain data. No product knows what a study expects of an answer, so that this failure is left out."""
    fields = plain(policy)
    if policy.rate_limit:
        limit = policy.rate_limit
        return {**limits(fields), "gap": limit.per.level.us / limit.calls.level}
    chosen = policy.retry or policy.circuit_breaker
    if chosen is None:
        return fields
    acts = failures(chosen.on)
    if policy.retry:
        return {"attempts": policy.attempts, "pauses": pauses(policy.retry), "acts on": acts_of(acts)}
    return {**fields, "acts on": acts_of(acts), policy.kind: without_on(fields, policy)}


def acts_of(acts: Failures) -> tuple[frozenset[int], bool, bool]:
    return acts.statuses, acts.timeouts, acts.connections


def pauses(retry: StackedRetry) -> tuple[object, ...]:
    """The longest pauses of a retry, and how they are spread; Envoy can't wait for less than a millisecond."""
    longest = tuple(max(round(one), 1000) for one in delays_us(retry))
    at_once = set(longest) <= {1000}
    return (longest, "at once" if at_once else retry.jitter.level)


def limits(fields: dict[str, object]) -> dict[str, object]:
    """A rate limit without its numbers of calls and time, of which only the quotient acts."""
    inner = fields["rate_limit"]
    assert isinstance(inner, dict)
    return {name: value for name, value in inner.items() if name not in ("calls", "per")}


def without_on(fields: dict[str, object], policy: Policy) -> dict[str, object]:
    inner = fields[policy.kind]
    assert isinstance(inner, dict)
    return {name: value for name, value in inner.items() if name != "on"}


def said_exactly(patterns: Patterns, written: WrittenConfiguration) -> list[Policy]:
    """The policies of which the product says every field exactly."""
    inexact = {one.ours.partition(".")[0] for one in written.mapped if one.fidelity is not Fidelity.EXACT}
    return [policy for name, policy in patterns.named if name not in inexact]


@pytest.mark.parametrize(("form", "case"), CASES)
def test_what_is_written_is_read_as_the_policies_that_it_was_made_of(form: str, case: str) -> None:
    patterns = cases(form)[case]
    written = registry.form(form).write(patterns, GuardedService())
    if not written.body:
        return  # the form can't hold these policies at all
    layers = read_back(form, written)
    missed = [str(note) for note in summary.notes(layers) if note.kind is NoteKind.NOT_UNDERSTOOD]
    assert missed == []
    found = [as_a_product_sees_it(one.policy) for layer in layers for one in layer.policies]
    due = [as_a_product_sees_it(policy) for policy in said_exactly(patterns, written)]
    assert [policy for policy in due if policy not in found] == [], written.body
