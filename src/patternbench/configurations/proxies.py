"""The settings of a proxy of the measured system, in groups of fields that act together.

It is the same for every form: which component of a system file says it is read in ``proxies_of_systems``.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from patternbench.configurations.failures import Failures
from patternbench.configurations.reading.retry_on import STATUS_CODES, WORDS
from patternbench.lab.config.gateways import NO_TIME, AdaptiveConcurrency, Cluster, LocalLimit, Retries
from patternbench.terms.units import Duration


class FieldGroup(StrEnum):
    """Fields of a proxy that act together, and are written together or not at all."""

    RETRIES = "retries"
    TIMEOUT = "timeout"
    BALANCING = "balancing"
    BOUNDS = "bounds"
    OUTLIERS = "outliers"
    CONNECTIONS = "connections"
    LIMIT = "limit"
    FURTHER = "further limits"
    ADAPTIVE = "adaptive"


@dataclass(frozen=True)
class ProxyField:
    """A field of a proxy that acts.

    ``leaf`` is its name within the group, ``value`` what it holds, as a system file writes it. ``name`` is that of the
    setting that fills it; of a value that the system file gives itself, its place there.
    """

    group: FieldGroup
    leaf: str
    value: str
    name: str


@dataclass(frozen=True)
class RequestLimit:
    """A limit of requests as a bucket: ``burst`` at once, and ``calls`` more in ``per``, evenly spread over it.

    With ``header`` each value of that header has a bucket. ``waits`` is whether requests wait for their turn instead of
    going on at once, ``else_by_address`` whether those without the header are told apart by their address. ``differs``
    says what the measured limit does otherwise than such a bucket.
    """

    burst: int
    calls: int
    per: Duration
    header: str = ""
    waits: bool = False
    else_by_address: bool = False
    differs: str = ""


NO_RETRIES, NO_ADAPTING = Retries(), AdaptiveConcurrency()
ONE_HOST = Cluster(to=["service"])


@dataclass(frozen=True)
class ProxySettings:
    """The settings of a proxy: the fields that are listed, and the values of their groups.

    ``local_limit`` is the limit of a gateway as it has it, with all that ``limit`` leaves out. ``calls_only`` says
    what differs where a limit counts the calls of someone who tries again, and not their attempts.
    """

    fields: tuple[ProxyField, ...] = ()
    retries: Retries = NO_RETRIES
    timeout: Duration = NO_TIME
    cluster: Cluster = ONE_HOST
    limit: RequestLimit | None = None
    local_limit: LocalLimit | None = None
    adaptive: AdaptiveConcurrency = NO_ADAPTING
    calls_only: str = ""

    @property
    def groups(self) -> tuple[FieldGroup, ...]:
        """The groups that act, in their order."""
        return tuple(dict.fromkeys(one.group for one in self.fields))

    @property
    def names(self) -> frozenset[str]:
        """The names by which its fields are listed."""
        return frozenset(one.name for one in self.fields)

    def of(self, group: FieldGroup) -> Mapping[str, ProxyField]:
        """Return the fields of a group by their names within it."""
        return {one.leaf: one for one in self.fields if one.group is group}

    def filled_by(self, settings: Collection[str]) -> ProxySettings:
        """Return the same without the groups in which none of these settings fills a field."""
        kept = {one.group for one in self.fields if one.name in settings}
        return replace(self, fields=tuple(one for one in self.fields if one.group in kept)) if kept else NO_PROXY


NO_PROXY = ProxySettings()


def tried_again(retries: Retries) -> Failures:
    """Return the failures for which Envoy's words stand."""
    found = {one for word in retries.retry_on for one in WORDS.get(word, ())}
    found |= {*retries.retriable_status_codes} if STATUS_CODES in retries.retry_on else set()
    statuses = frozenset(one for one in found if isinstance(one, int))
    return Failures(statuses, "timeout" in found, "connection_error" in found, expectations=False)


def longest_pauses(retries: Retries, longest: Duration) -> list[int]:
    """Return the longest pause before each further attempt in microseconds, with another longest pause than its own."""
    return [min(retries.base_interval.us * 2**number, longest.us) for number in range(retries.num_retries)]
