"""Inefficient shapes of operations: one query per row, calls one after another, wide fans."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import NamedTuple

from patternbench.traces.analyze.calls import NS_PER_S, target_of
from patternbench.traces.analyze.trees import SpanNode, TracedRequest, pattern_of

MANY = 5
"""Equal calls in the median request from which on they are called a repetition (N+1)."""


class Repetition(NamedTuple):
    """An operation's repeated call: ``times`` per request, at most ``at_once`` of them together.

    ``seconds`` are those of all of them per request, ``share`` is their part of the request's time.
    """

    operation: str
    caller: str
    callee: str
    what: str
    times: float
    seconds: float
    share: float
    at_once: int


class OperationShape(NamedTuple):
    """How an operation calls.

    ``calls`` are those of services and databases per request, mean; ``depth`` is how many are above the deepest one,
    itself included. The widest fan is who makes the most calls for one request, how many, and how many at once.
    """

    operation: str
    requests: int
    calls: float
    services: int
    depth: int
    widest_caller: str
    widest: int
    at_once: int


def what_of(call: SpanNode) -> str:
    """Return the operation of a call without its variable parts: a statement, a method and a path, or its name."""
    if call.statement:
        return call.statement
    callee = next((node for node in call.children if node.service != call.service), None)
    reported = callee or call
    path = reported.route or pattern_of(reported.path) or pattern_of(call.path)
    return f"{call.method or reported.method} {path}".strip() if path else call.name


def calls_within(handling: SpanNode) -> list[SpanNode]:
    """Return the calls that a service makes itself while it handles something, in the order in which they begin."""
    waiting, calls = [handling], list[SpanNode]()
    while waiting:
        node = waiting.pop()
        calls += [child for child in node.children if child.leaves]
        waiting += [child for child in node.children if not child.leaves and not child.enters]
    return sorted(calls, key=lambda call: call.start)


def handlings(root: SpanNode) -> Iterator[SpanNode]:
    """Return the spans with which a service begins to handle something."""
    return (node for node in root.below() if node.enters)


@dataclass(frozen=True)
class _RepeatedCall:
    """The same call, made several times for one request by one handling."""

    calls: Sequence[SpanNode]

    @property
    def seconds(self) -> float:
        return sum(call.duration for call in self.calls) / NS_PER_S


Key = tuple[str, str, str]


def repeated(requests: Sequence[TracedRequest]) -> list[Repetition]:
    """Return calls that an operation repeats at least ``MANY`` times per request (median), the costliest first."""
    listed = [one for name, own in _by_operation(requests).items() for one in _repeated(name, own)]
    return sorted(listed, key=lambda repetition: -repetition.seconds)


def _repeated(operation: str, requests: Sequence[TracedRequest]) -> Iterator[Repetition]:
    groups: dict[Key, list[_RepeatedCall]] = {}
    for request in requests:
        for key, calls in _of_request(request.root):
            groups.setdefault(key, []).append(calls)
    whole = sum(request.root.duration for request in requests) / NS_PER_S
    for key, several in groups.items():
        if median([len(one.calls) for one in several] + [0] * (len(requests) - len(several))) >= MANY:
            yield _repetition(operation, key, several, len(requests), whole)


def _of_request(root: SpanNode) -> Iterator[tuple[Key, _RepeatedCall]]:
    """Yield the handler that calls each operation most often."""
    most: dict[Key, _RepeatedCall] = {}
    for handling in handlings(root):
        groups: dict[Key, list[SpanNode]] = {}
        for call in calls_within(handling):
            groups.setdefault((handling.service, target_of(call), what_of(call)), []).append(call)
        for key, calls in groups.items():
            if key not in most or len(calls) > len(most[key].calls):
                most[key] = _RepeatedCall(calls)
    yield from most.items()


def _repetition(operation: str, key: Key, several: Sequence[_RepeatedCall], requests: int, whole: float) -> Repetition:
    seconds = sum(one.seconds for one in several)
    at_once = max(most_at_once(one.calls) for one in several)
    times = median(len(one.calls) for one in several)
    return Repetition(operation, *key, times, seconds / requests, seconds / whole if whole else 0.0, at_once)


def most_at_once(calls: Sequence[SpanNode]) -> int:
    """Return the most of several calls that are under way together."""
    turns = sorted([(call.end, -1) for call in calls] + [(call.start, 1) for call in calls])
    under_way = most = 0
    for _, change in turns:
        under_way += change
        most = max(most, under_way)
    return most


def shapes(requests: Sequence[TracedRequest]) -> list[OperationShape]:
    """How each operation calls, the chattiest first."""
    listed = [_shape(name, own) for name, own in _by_operation(requests).items()]
    return sorted(listed, key=lambda shape: -shape.calls)


def _shape(operation: str, requests: Sequence[TracedRequest]) -> OperationShape:
    fans = [(handling, calls_within(handling)) for request in requests for handling in handlings(request.root)]
    widest, calls = max(fans, key=lambda fan: len(fan[1]))
    made = sum(len(own) for _, own in fans) / len(requests)
    services = len({handling.service for handling, _ in fans})
    depth = max(_depth(request.root) for request in requests)
    fan = (widest.service, len(calls), most_at_once(calls))
    return OperationShape(operation, len(requests), made, services, depth, *fan)


def _depth(root: SpanNode) -> int:
    """How many calls are above the deepest one, itself included."""
    depths = {id(root): 0}
    for node in root.below():
        if node.parent is not None and node is not root:
            depths[id(node)] = depths[id(node.parent)] + node.leaves
    return max(depths.values())


def _by_operation(requests: Sequence[TracedRequest]) -> dict[str, list[TracedRequest]]:
    """Return the requests of each operation, the most frequent one first."""
    frequent = Counter(request.operation for request in requests).most_common()
    return {name: [request for request in requests if request.operation == name] for name, _ in frequent}
