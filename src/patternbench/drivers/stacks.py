"""Stacks of policies in the form of the contracts, the same for clients and for the load engine."""

from __future__ import annotations

from collections.abc import Sequence

from patternbench.drivers.origins import TracedValue, with_origins
from patternbench.study.model.levels import Levels
from patternbench.study.workload.policies import Policy


def stacked(stack: Sequence[Policy], origin: str) -> list[TracedValue]:
    """Policies as a stack, with every parameter. ``origin`` is their list in the study."""
    return [policy(entry, f"{origin}[{number}]") for number, entry in enumerate(stack)]


def policy(entry: Policy, origin: str) -> TracedValue:
    """Return a policy as an entry of a stack."""
    chosen, below = entry.chosen, f"{origin}.{entry.kind}"
    if isinstance(chosen, Levels):
        return TracedValue({entry.kind: TracedValue({"after_us": TracedValue(chosen.level.us, below)}, below)}, origin)
    return TracedValue({entry.kind: with_origins(chosen, below)}, origin)
