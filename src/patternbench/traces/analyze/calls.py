"""The rule by which calls are counted, and by which the time of a request is shared among them.

- A *database* call is the span of a client that names a database (``db.system``, ``db.system.name``).
- A span for a database without a statement is a *check*, such as a pool's question whether a connection still works,
  and counted apart: how many there are depends on how long connections rested. Where a service tells no statement of
  a database at all, each of its spans is a call.
- A *distributed* call is any other span of a client (HTTP, RPC) or of a producer of messages.
- Other exchanges with a broker (``basic.ack``, a wait for confirmations) aren't calls: a message is counted once,
  at its producer. Its time is distributed time.
- Of a call within a call of the same service only the outer one counts: a search by HTTP is one database call.
- *In-memory* calls are what the services say (``patternbench.calls.in_memory`` at the span with which each begins to
  handle something); where one does not say it, they are not known.

The time of a request is that of its root. At each moment it belongs to the innermost span that is under way, in equal
parts where several are: so the shares of types, or of services, add up to the whole (``own_times``). The time of a
distributed call is then what is spent between its two ends, and in a callee that sends no spans.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from enum import Enum

import pandas as pd

from patternbench.traces.analyze.trees import SpanNode, TracedRequest
from patternbench.traces.columns import PRODUCER

NS_PER_S = 1_000_000_000


class CallType(Enum):
    """The types of calls."""

    IN_MEMORY = "in_memory"
    DATABASE = "database"
    DISTRIBUTED = "distributed"


CALLS = tuple(f"{kind.value}_calls" for kind in CallType)
CHECKS = "database_checks"
"""The column of spans for databases that aren't calls."""
REQUEST_COLUMNS = (
    "operation",
    "seconds",
    "failed",
    *CALLS,
    CHECKS,
    *(f"{kind.value}_time" for kind in CallType),
    "distributed_time_with_callee",
    "services",
    "spans",
    "skew",
)


def per_request(requests: Sequence[TracedRequest]) -> pd.DataFrame:
    """One row per request: its operation, its calls by type, and where its time went, in seconds."""
    telling = {_requested(node) for request in requests for node in request.root.below() if node.statement}
    return pd.DataFrame([_row(request, telling) for request in requests], columns=list(REQUEST_COLUMNS))


def _requested(node: SpanNode) -> tuple[str, str]:
    """Return the service that asks, and the kind of database."""
    return node.service, node.database


def _row(request: TracedRequest, telling: Collection[tuple[str, str]]) -> dict[str, object]:
    """Return a request's row; ``telling`` are the services that tell statements, each with the database."""
    nodes, times = list(request.root.below()), own_times(request.root)
    by_type = dict.fromkeys(CallType, 0.0)
    for node, time in times:
        by_type[type_of_time(node)] += time
    asking = [node for node in nodes if node.leaves and node.database]
    checks = sum(not node.statement and _requested(node) in telling for node in asking)
    return {
        "operation": request.operation,
        "seconds": request.root.duration / NS_PER_S,
        "failed": request.root.failed,
        "in_memory_calls": _in_memory(nodes),
        "database_calls": len(asking) - checks,
        CHECKS: checks,
        "distributed_calls": sum(_calls_a_service(node) for node in nodes),
        **{f"{kind.value}_time": by_type[kind] / NS_PER_S for kind in CallType},
        "distributed_time_with_callee": _with_callee(request.root) / NS_PER_S,
        "services": len({node.service for node in nodes}),
        "spans": len(nodes),
        "skew": request.skew / NS_PER_S,
    }


def _calls_a_service(node: SpanNode) -> bool:
    """Whether a span is a distributed call."""
    return node.leaves and not node.database and not (node.messaging and node.kind != PRODUCER)


def _in_memory(nodes: Sequence[SpanNode]) -> float:
    """Return what the services say together; NaN where one of them does not say it."""
    return sum((node.in_memory_calls for node in nodes if node.enters), 0.0)


def _with_callee(root: SpanNode) -> int:
    """Time in ns in the distributed calls that the entered service makes itself, callees included."""
    own = _of_service(root)
    return sum(node.duration for node in own if node.leaves and not node.database)


def _of_service(root: SpanNode) -> Iterator[SpanNode]:
    """Yield what a service does while it handles something: the span with which it begins, and its own below it."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [child for child in node.children if not child.enters]


def call_of(node: SpanNode) -> SpanNode | None:
    """Return the call that a span is, or is a part of, within its service."""
    while not node.leaves:
        if node.enters or node.parent is None:
            return None
        node = node.parent
    return node


def type_of_time(node: SpanNode) -> CallType:
    """Return the type of call that a span's exclusive time counts as."""
    call = call_of(node)
    if call is None:
        return CallType.IN_MEMORY
    return CallType.DATABASE if call.database else CallType.DISTRIBUTED


def own_times(root: SpanNode) -> list[tuple[SpanNode, float]]:
    """Return the time in ns that is each span's own: what of a request's time belongs to it.

    They add up to the request's.
    """
    clipped = _clipped(root)
    sweep = _Sweep([node for node, _, _ in clipped])
    begins = [(begin, True, number) for number, (_, begin, _) in enumerate(clipped)]
    ends = [(end, False, number) for number, (_, _, end) in enumerate(clipped)]
    before = root.start
    for moment, active, number in sorted([*begins, *ends]):
        sweep.pass_by(moment - before)
        sweep.turn(number, active)
        before = moment
    return list(zip(sweep.nodes, sweep.own, strict=True))


class _Sweep:
    """Goes through the time of a request and gives each stretch to the innermost spans that are under way."""

    def __init__(self, nodes: Sequence[SpanNode]) -> None:
        self.nodes = nodes
        self.own = [0.0] * len(nodes)
        numbers = {id(node): number for number, node in enumerate(nodes)}
        self._parents = [numbers.get(id(node.parent)) for node in nodes]
        self._active = [False] * len(nodes)
        self._active_children = [0] * len(nodes)
        self._innermost: set[int] = set()

    def pass_by(self, time: int) -> None:
        """Share time that passes among the innermost open spans."""
        for number in self._innermost:
            self.own[number] += time / len(self._innermost)

    def turn(self, number: int, active: bool) -> None:
        """Count the begin or the end of a span among those that are open."""
        self._active[number] = active
        self._settle(number)
        parent = self._parents[number]
        if parent is not None:
            self._active_children[parent] += 1 if active else -1
            self._settle(parent)

    def _settle(self, number: int) -> None:
        innermost = self._active[number] and not self._active_children[number]
        (self._innermost.add if innermost else self._innermost.discard)(number)


def _clipped(root: SpanNode) -> list[tuple[SpanNode, int, int]]:
    """Each span with the part of it that lies within all spans above it; those that have none are left out."""
    kept: list[tuple[SpanNode, int, int]] = []
    waiting = [(root, root.start, root.end)]
    while waiting:
        node, begin, end = waiting.pop()
        begin, end = max(begin, node.start), min(end, node.end)
        if begin < end or node is root:
            kept.append((node, begin, end))
            waiting += [(child, begin, end) for child in node.children]
    return kept


def target_of(call: SpanNode) -> str:
    """Whom a call goes to: the service that took it, else the database, queue or address that the caller knows."""
    callee = next((node for node in call.below() if node is not call and node.service != call.service), None)
    if callee is not None and call.kind != PRODUCER:
        return callee.service
    if call.database:
        return f"{call.database} {call.schema or call.peer}".strip()
    if call.kind == PRODUCER or call.messaging:
        return f"{call.messaging} {call.destination}".strip() or call.peer or call.name
    return call.peer or call.name


def whose_time(node: SpanNode) -> str:
    """Return the service that a span's exclusive time counts for: its own, or the callee where that sends no spans.

    The time of a call that another service took is spent on the way there and back.
    """
    call = call_of(node)
    if call is None:
        return node.service
    answered = any(child.service != call.service for child in call.below())
    return f"{call.service} → {target_of(call)}" if answered and not call.database else target_of(call)


def mean_calls(requests: pd.DataFrame) -> dict[str, float]:
    """Return the calls per request by type, mean, of a table of requests; NaN where they are not known."""
    return {name: mean_or_nan(requests[name]) for name in (*CALLS, CHECKS)}


def mean_or_nan(values: pd.Series) -> float:
    """Return the mean; NaN where there is nothing, or one is not known."""
    return float(values.mean(skipna=False)) if len(values) else math.nan
