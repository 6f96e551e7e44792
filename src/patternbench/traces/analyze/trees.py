"""From a table of spans to requests: trees of spans, their clocks set right, whole or incomplete.

A request is a tree whose root is the span of a server or consumer. A root has no parent, or one outside the system (a
client that sends ``traceparent``): that is so where no span of its trace is without a parent. In any other trace a span
whose parent is missing has lost it, and the requests of that trace are incomplete: nothing is counted of them. What
begins otherwise (a timer, a heartbeat) is background work and no request.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import pandas as pd

from patternbench.traces.columns import CLIENT, CONSUMER, PRODUCER, SERVER

ENTERING, LEAVING = (SERVER, CONSUMER), (CLIENT, PRODUCER)
OVERHANG, OVERHANG_NS = 0.1, 20_000_000
"""By how much the span of a server may end after that of its caller, whose answer it has sent by then: the greater of
a part of its own duration and a time in ns (a busy machine lets it wait)."""
DEEPEST = 300
"""Depth of a tree of spans at most."""
IDENTIFIER = re.compile(r"^(\d+|[0-9a-fA-F-]{8,}|.*\d{3,}.*)$")


@dataclass(eq=False, slots=True)
class SpanNode:
    """A span in its tree. ``start`` and ``end`` are ns, by one clock for all of a request."""

    span_id: str
    service: str
    name: str
    kind: str
    start: int
    end: int
    error: bool
    method: str
    route: str
    path: str
    status: int
    database: str
    schema: str
    statement: str
    messaging: str
    destination: str
    peer: str
    in_memory_calls: float
    parent: SpanNode | None = None
    children: list[SpanNode] = field(default_factory=list)

    @property
    def duration(self) -> int:
        """How long it lasts, in ns."""
        return self.end - self.start

    @property
    def enters(self) -> bool:
        """Whether a service begins to handle something with it: its parent is elsewhere."""
        return self.parent is None or self.kind in ENTERING or self.parent.service != self.service

    @property
    def leaves(self) -> bool:
        """Whether it calls another service; of nested client spans the outer one counts."""
        return self.kind in LEAVING and not self._within_a_call()

    def _within_a_call(self) -> bool:
        node: SpanNode = self
        while not node.enters and node.parent is not None:
            node = node.parent
            if node.kind in LEAVING:
                return True
        return False

    def below(self) -> Iterator[SpanNode]:
        """Yield the span itself and all below it, each before what is below it."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)

    @property
    def failed(self) -> bool:
        """Whether it says that it failed."""
        return self.error or self.status >= SERVER_ERRORS


SERVER_ERRORS = 500


@dataclass(frozen=True)
class TracedRequest:
    """A request of the edge: its tree; ``skew`` is the greatest time in ns by which a service's clock was set right."""

    root: SpanNode
    skew: int = 0

    @property
    def operation(self) -> str:
        """The operation of the request, without its variable parts."""
        return operation_of(self.root)


@dataclass(frozen=True)
class Forest:
    """The requests of a table of spans; of traces that are incomplete, and of background work, how many there are."""

    requests: Sequence[TracedRequest]
    incomplete: int = 0
    background: int = 0


def forest(spans: pd.DataFrame) -> Forest:
    """Return the requests among spans (the columns of ``traces.columns``), in the order in which they began."""
    requests: list[TracedRequest] = []
    incomplete = background = 0
    for rows in _traces(spans):
        nodes, lost = _linked(rows)
        roots = [node for node in nodes if node.parent is None]
        if lost:
            incomplete += 1
            continue
        begun = [root for root in roots if root.kind in ENTERING]
        background += len(roots) - len(begun)
        requests += [TracedRequest(root, _set_clocks(root)) for root in begun]
    return Forest(sorted(requests, key=lambda request: request.root.start), incomplete, background)


_FIELDS = tuple(SpanNode.__dataclass_fields__)[:-2]
_COLUMNS = ("span_id", "service", "name", "kind", "start_ns", "end_ns", *_FIELDS[6:])
Row = tuple[str, str, SpanNode]
"""A span with the ids of its trace and its parent."""


def _traces(spans: pd.DataFrame) -> Iterator[list[Row]]:
    """Yield the spans of each trace; a consumer without a parent joins the trace of the span that it is linked to."""
    joined = _joined(spans).sort_values("trace_id", kind="stable")
    columns = [joined[name].tolist() for name in ("trace_id", "parent_id", *_COLUMNS)]
    rows = ((trace, parent, SpanNode(*values)) for trace, parent, *values in zip(*columns, strict=True))
    for _, group in groupby(rows, key=lambda row: row[0]):
        yield list(group)


def _joined(spans: pd.DataFrame) -> pd.DataFrame:
    """Spans with the trace of a linked consumer's own replaced by that of the message, and the link as its parent."""
    linking = (spans["parent_id"] == "") & (spans["kind"] == CONSUMER) & (spans["linked_span"] != "")
    linking &= spans["linked_span"].isin(spans["span_id"])
    if not linking.any():
        return spans
    adopted = spans[linking]
    traces = dict(zip(adopted["trace_id"], adopted["linked_trace"], strict=True))
    parents = spans["parent_id"].where(~linking, spans["linked_span"])
    return spans.assign(trace_id=spans["trace_id"].replace(traces), parent_id=parents)


def _linked(rows: Sequence[Row]) -> tuple[list[SpanNode], bool]:
    """Return the spans of a trace with their parents and children, and whether some have lost theirs."""
    nodes = {node.span_id: node for _, _, node in rows}
    for _, parent, node in rows:
        above = nodes.get(parent)
        if above is not None and above is not node:
            node.parent = above
            above.children.append(node)
    for node in nodes.values():
        node.children.sort(key=lambda child: child.start)
    orphans = [node for _, parent, node in rows if parent and node.parent is None]
    rooted = any(not parent for _, parent, _ in rows)
    lost = bool(orphans) and (rooted or any(node.kind not in ENTERING for node in orphans))
    return list(nodes.values()), lost or not _sound(nodes.values())


def _sound(nodes: Collection[SpanNode]) -> bool:
    """Whether each span is reached from a root, not too far down: only a bad client sends circles and wells."""
    waiting = [(node, 1) for node in nodes if node.parent is None]
    reached = deepest = 0
    while waiting:
        node, depth = waiting.pop()
        reached, deepest = reached + 1, max(deepest, depth)
        waiting += [(child, depth + 1) for child in node.children]
    return reached == len(nodes) and deepest <= DEEPEST


def _set_clocks(root: SpanNode) -> int:
    """Shift what other services tell of a request to where it can have happened; the greatest shift in ns.

    Clocks of machines differ. A span that a service begins on a call lies within the span of its caller. Where that
    is not so, it is put into the middle of it with all that its service did, as Jaeger does.
    """
    greatest = 0
    waiting: list[tuple[SpanNode, int]] = [(root, 0)]
    while waiting:
        node, shift = waiting.pop()
        node.start, node.end = node.start + shift, node.end + shift
        greatest = max(greatest, abs(shift))
        waiting += [
            (child, shift if child.service == node.service else _shift(node, child, shift)) for child in node.children
        ]
    return greatest


def _shift(caller: SpanNode, span: SpanNode, inherited: int) -> int:
    """By how many ns to shift the span of another service than its caller's, whose times are set right already."""
    start, end = span.start + inherited, span.end + inherited
    early = caller.start - start
    if caller.kind == PRODUCER or span.kind == CONSUMER or span.duration > caller.duration:
        return inherited + max(early, 0)
    tolerated = max(OVERHANG * span.duration, OVERHANG_NS)
    if early <= 0 and end <= caller.end + tolerated:
        return inherited
    return inherited + early + (caller.duration - span.duration) // 2


def operation_of(root: SpanNode) -> str:
    """Return the operation of a request: method and route, or path without identifiers; else the name of its root."""
    what = root.route or pattern_of(root.path)
    if root.kind == CONSUMER:
        return f"message {root.destination or root.name}"
    return f"{root.method} {what}".strip() if what else root.name


def pattern_of(path: str) -> str:
    """Return a path in which identifiers are ``{id}``: of a service that does not tell its routes."""
    return "/".join("{id}" if IDENTIFIER.match(part) else part for part in path.split("/"))
