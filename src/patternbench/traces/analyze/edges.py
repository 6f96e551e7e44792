"""The edges of the service graph: callers and callees in the requests of one scenario."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

import numpy as np

from patternbench.traces.analyze.calls import NS_PER_S, target_of
from patternbench.traces.analyze.trees import SpanNode, TracedRequest
from patternbench.traces.columns import PRODUCER

EDGE = "load"
"""The caller of every request."""


class CalleeKind(Enum):
    """A callee: a service that sends spans, a database, a queue or topic, or a service without spans."""

    SERVICE = "service"
    DATABASE = "database"
    QUEUE = "queue"
    OTHER = "other"


class ServiceEdge(NamedTuple):
    """A caller and whom it calls.

    ``per_request`` is the amplification, ``errors`` the share of calls that failed; ``p50`` and ``p95`` are seconds,
    as the caller sees them.
    """

    caller: str
    callee: str
    kind: CalleeKind
    calls: int
    per_request: float
    errors: float
    p50: float
    p95: float


@dataclass(frozen=True)
class _CallMade:
    caller: str
    callee: str
    kind: CalleeKind
    seconds: float
    failed: bool


def edges(requests: Sequence[TracedRequest]) -> list[ServiceEdge]:
    """Callers and callees in requests, in the order of first calls."""
    calls: dict[tuple[str, str], list[_CallMade]] = {}
    for request in requests:
        for call in _calls(request.root):
            calls.setdefault((call.caller, call.callee), []).append(call)
    return [_edge(several, len(requests)) for several in calls.values()]


def _calls(root: SpanNode) -> Iterator[_CallMade]:
    yield _CallMade(EDGE, root.service, CalleeKind.SERVICE, root.duration / NS_PER_S, root.failed)
    for node in root.below():
        if node.leaves:
            callee = target_of(node)
            yield _CallMade(node.service, callee, kind_of(node, callee), node.duration / NS_PER_S, node.failed)
            yield from _taken(node, callee)


def _taken(sent: SpanNode, queue: str) -> Iterator[_CallMade]:
    """Yield the consumers of a message's queue."""
    if sent.kind == PRODUCER:
        for node in sent.children:
            if node.service != sent.service:
                yield _CallMade(queue, node.service, CalleeKind.SERVICE, node.duration / NS_PER_S, node.failed)


def kind_of(call: SpanNode, callee: str) -> CalleeKind:
    """Return the kind of a callee."""
    if call.database:
        return CalleeKind.DATABASE
    if call.kind == PRODUCER or call.messaging:
        return CalleeKind.QUEUE
    taken = any(node.service == callee for node in call.below() if node is not call)
    return CalleeKind.SERVICE if taken else CalleeKind.OTHER


def _edge(calls: Sequence[_CallMade], requests: int) -> ServiceEdge:
    p50, p95 = np.quantile([call.seconds for call in calls], [0.5, 0.95])
    errors = sum(call.failed for call in calls) / len(calls)
    first = calls[0]
    kinds = (first.caller, first.callee, first.kind)
    return ServiceEdge(*kinds, len(calls), len(calls) / requests, errors, float(p50), float(p95))
