"""Reads from a system file which policies its own components have, such as the breakers of a gateway in Spring.

They are a stack as a caller's, so that every form says them as it says those.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from patternbench.configurations.patterns import Patterns
from patternbench.lab.systems import SystemFile
from patternbench.study.load import validated
from patternbench.study.text.document import Document
from patternbench.study.workload.policies import Policy

NO_POLICIES = Patterns(())


@dataclass(frozen=True)
class SystemPatterns:
    """The policies of a system's own components, and the settings that say them."""

    patterns: Patterns = NO_POLICIES
    settings: frozenset[str] = frozenset()


NO_PATTERNS = SystemPatterns()


def patterns_of(system: SystemFile, given: Mapping[str, object]) -> SystemPatterns:
    """Return the first policies of a system of which a study gives a setting; nothing where it gives none.

    A condition on a setting that can be without its pattern, such as ``breaker: true``, is part of what they say.
    Raises InputError for levels that no policy has.
    """
    for part, stack in system.policies_with(given):
        names = part.named | {name for name in part.when if system.settings[name].none is not None}
        if names & given.keys():
            policies = tuple(cast(Policy, validated(Policy, Document("", _with_failures(one)))) for one in stack)
            return SystemPatterns(Patterns(policies), frozenset(names))
    return NO_PATTERNS


def _with_failures(policy: Mapping[str, object]) -> dict[str, object]:
    """Return a policy with each failure of its ``on`` as an entry of its own."""
    return {kind: _split(own) if isinstance(own, dict) else own for kind, own in policy.items()}


def _split(own: Mapping[str, object]) -> dict[str, object]:
    listed = own.get("on")
    return {**own, "on": [*_failures(listed)]} if isinstance(listed, list) else dict(own)


def _failures(listed: list[object]) -> Iterator[object]:
    for entry in (part.strip() for one in listed for part in str(one).split(",")):
        if entry != "none":
            yield int(entry) if entry.isdigit() else entry
