"""The critical path of a request: what its time waited for, moment by moment.

From the end of the root backwards, the request waited for the span that ended last before a moment; before that span
began, for the one that had ended last by then, and so on. A shorter span on the path makes the request shorter. A
shorter span outside it doesn't. Zhang et al. (2022), CRISP: Critical Path Analysis of Large-Scale Microservice
Architectures.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from patternbench.traces.analyze.calls import NS_PER_S, whose_time
from patternbench.traces.analyze.trees import SpanNode, TracedRequest


def critical_path(root: SpanNode) -> list[tuple[SpanNode, int]]:
    """Return the stretches of the path: whose they are and how long, in ns. They add up to the time of the request."""
    return [(node, length) for node, length in _stretches(root) if length]


def _stretches(root: SpanNode) -> Iterator[tuple[SpanNode, int]]:
    waiting: list[tuple[SpanNode, int, int]] = [(root, root.start, root.end)]
    while waiting:
        node, begin, cursor = waiting.pop()
        for child in sorted(node.children, key=lambda inner: inner.end, reverse=True):
            starts, ends = max(child.start, begin), min(child.end, cursor)
            if starts < ends:
                yield node, cursor - ends
                waiting.append((child, starts, ends))
                cursor = starts
        yield node, cursor - begin


class PathShare(NamedTuple):
    """Whose time a part of the critical path of an operation is: seconds per request, and the share of all of it."""

    operation: str
    owner: str
    seconds: float
    share: float


def shares(requests: Sequence[TracedRequest]) -> list[PathShare]:
    """Whose time the critical path is, for each operation the greatest share first."""
    operations = dict.fromkeys(request.operation for request in requests)
    return [share for name in operations for share in _shares(name, [one for one in requests if one.operation == name])]


def _shares(operation: str, requests: Sequence[TracedRequest]) -> list[PathShare]:
    times = Counter[str]()
    for node, length in (stretch for request in requests for stretch in critical_path(request.root)):
        times[whose_time(node)] += length
    per_request = len(requests) * NS_PER_S
    return [
        PathShare(operation, owner, time / per_request, time / times.total()) for owner, time in times.most_common()
    ]
