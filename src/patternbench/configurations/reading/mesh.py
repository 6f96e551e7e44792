"""What a proxy of a mesh does about calls, as policies of a client and as settings of the system ``mesh``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from patternbench.configurations.amounts import Notation
from patternbench.configurations.reading.failures import Failures, listed
from patternbench.configurations.reading.layer import Layer, Plain, ReadPolicy, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.section import FieldReader
from patternbench.study.text.nodes import FileLine, FileNode
from patternbench.terms.units import Duration

BASE = Duration.parse("25ms")
"""Envoy's back-off before the first retry; the longest is ten times as long, unless it is said."""
MOST_IN_ENVOY = 10
NO_SETTING = "the system `mesh` has no setting for it"


@dataclass
class Guards:
    """What guards the calls of one route, outermost first, and the words that say what is tried again."""

    whole: tuple[ReadPolicy, ...] = ()
    retry: tuple[ReadPolicy, ...] = ()
    limits: tuple[ReadPolicy, ...] = ()
    attempt: tuple[ReadPolicy, ...] = ()
    retry_on: str = ""
    of_hosts: dict[str, Plain] = field(default_factory=dict)

    @property
    def policies(self) -> tuple[ReadPolicy, ...]:
        """All of them. The bound on requests counts attempts, and none of them between two attempts."""
        return (*self.whole, *self.retry, *self.limits, *self.attempt)

    def layer(self, product: str, name: str, place: FileLine, notes: ReadingNotes) -> Layer:
        """Return them as a layer; a proxy's retries don't ask whether a call may be made twice."""
        repeats = self.retry[0].place if self.retry else None
        return Layer(product, name, place, self.policies, self._settings(), tuple(notes.found), repeats)

    def _settings(self) -> Mapping[str, Plain]:
        """Return them as settings of the system ``mesh``; nothing where it can't say what is tried again."""
        if any(character.isdigit() for character in self.retry_on.replace("5xx", "").replace("4xx", "")):
            return {}
        times = {"timeout": _time(self.whole), "try_timeout": _time(self.attempt)}
        return {**given(**times), **self._retry_settings(), **self.of_hosts}

    def _retry_settings(self) -> Mapping[str, Plain]:
        retry = self.retry[0].policy.retry if self.retry else None
        if retry is None or retry.backoff.exponential is None:
            return {}
        backoff = retry.backoff.exponential
        longest = backoff.max.level if backoff.max else None
        on = self.retry_on or None
        waits = given(retry_wait=backoff.initial.level, retry_wait_max=longest)
        return {**given(retries=retry.max_attempts.level - 1, retry_on=on), **waits}


def retry(attempts: object, failures: Failures, base: object = None, longest: object = None) -> dict[str, object]:
    """Return a retry as Envoy makes it: a doubled back-off with full jitter, which does not honour ``Retry-After``."""
    initial = base if isinstance(base, Duration) else BASE
    most = longest if isinstance(longest, Duration) else Duration(initial.us * MOST_IN_ENVOY)
    return {
        "max_attempts": attempts,
        "backoff": {"exponential": {"initial": initial, "multiplier": 2, "max": most}},
        "jitter": "full",
        "on": listed(failures),
        "retry_after_max": Duration(0),
    }


def bounded(node: FileNode | None, notation: Notation, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    """Return a time-out; None for a time of 0."""
    if node is None:
        return ()
    section = FieldReader(notes, node)
    time = section.of(node, notation)
    return () if time == Duration(0) else read_policies("timeout", time, section, node)


def limits(
    node: FileNode | None, pending: int | None, requests: int | None, retries: int | None, notes: ReadingNotes
) -> Guards:
    """Return the bounds on requests of a host: of all of them as a bulkhead, of the others as settings only."""
    found = Guards(of_hosts=given(max_pending=pending, max_requests=requests, max_retries=retries))
    if node is None:
        return found
    for name, bound in (("max_retries", retries), ("max_pending", pending)):
        if bound is not None:
            why = f"only the setting `{name}` of the system `mesh` does the same"
            notes.add(NoteKind.INEXPRESSIBLE, node, why, f"the bound {bound} on {_BOUNDS[name]}")
    if requests is not None:
        fields = {"max_concurrent": requests, "max_waiting": 0}
        found.limits = read_policies("bulkhead", fields, FieldReader(notes, node), node)
    return found


_BOUNDS = {"max_retries": "retries on their way", "max_pending": "requests that wait for a connection"}


def outliers(node: FileNode, failures: object, ejected: object, notes: ReadingNotes) -> dict[str, Plain]:
    """Return outlier detection as settings: a client of a study knows one host."""
    why = "leaves out one host of several, which only the setting `outlier_failures` of the system `mesh` does"
    notes.add(NoteKind.INEXPRESSIBLE, node, why)
    return given(outlier_failures=failures, ejection_time=ejected)


def given(**values: object) -> dict[str, Plain]:
    """Return settings that are given, times as text."""
    found = {name: str(one) if isinstance(one, Duration) else one for name, one in values.items()}
    return {name: one for name, one in found.items() if isinstance(one, (str, int, float, bool))}


def _time(policies: tuple[ReadPolicy, ...]) -> Duration | None:
    times = [one.policy.timeout.level for one in policies if one.policy.timeout]
    return times[0] if times else None
