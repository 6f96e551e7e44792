"""Stacks of policies in the form of the contracts, the same for clients and for the load engine."""

from __future__ import annotations

from collections.abc import Sequence

from patternbench.drivers.origins import From, with_origins
from patternbench.study.model.levels import Levels
from patternbench.study.workload.policies import Policy


def stacked(stack: Sequence[Policy], origin: str) -> list[From]:
    """Policies as a stack, with every parameter. ``origin`` is their list in the study."""
    return [policy(entry, f"{origin}[{number}]") for number, entry in enumerate(stack)]


def policy(entry: Policy, origin: str) -> From:
    """A policy as an entry of a stack."""
    chosen, below = entry.chosen, f"{origin}.{entry.kind}"
    if isinstance(chosen, Levels):
        return From({entry.kind: From({"after_us": From(chosen.level.us, below)}, below)}, origin)
    return From({entry.kind: with_origins(chosen, below)}, origin)
