"""An operation step by step: one typical request, with its repetitions folded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from patternbench.traces.analyze.calls import NS_PER_S, target_of
from patternbench.traces.analyze.edges import CalleeKind, kind_of
from patternbench.traces.analyze.shapes import calls_within, what_of
from patternbench.traces.analyze.trees import SpanNode, TracedRequest
from patternbench.traces.columns import PRODUCER

LONGEST_BLOCK = 6
"""Steps of a block that is looked for as a repetition."""


@dataclass(frozen=True)
class SequenceStep:
    """A call that takes ``seconds``, and what its callee does for it; of a message the caller does not wait."""

    caller: str
    callee: str
    kind: CalleeKind
    what: str
    seconds: float
    waits: bool
    failed: bool
    inner: tuple[Part, ...] = ()

    @property
    def shape(self) -> object:
        """A key of equal steps: everything but the time."""
        return (self.caller, self.callee, self.what, self.failed, tuple(part.shape for part in self.inner))


@dataclass(frozen=True)
class Loop:
    """Steps that are repeated, one after another: a block of them, and how often."""

    times: int
    block: tuple[SequenceStep, ...]

    @property
    def shape(self) -> object:
        """A key of equal loops."""
        return (self.times, tuple(step.shape for step in self.block))


Part = SequenceStep | Loop


def typical(requests: Sequence[TracedRequest]) -> TracedRequest:
    """Of the requests of the most frequent shape the one of middle duration. Raises ValueError where there are none."""
    shapes = [tuple(part.shape for part in steps(request)) for request in requests]
    usual = Counter(shapes).most_common(1)[0][0] if shapes else ()
    own = [request for request, shape in zip(requests, shapes, strict=True) if shape == usual]
    return sorted(own, key=lambda request: request.root.duration)[len(own) // 2]


def steps(request: TracedRequest) -> tuple[Part, ...]:
    """Return the steps of a request, in order, with repetitions folded."""
    return folded([_step(call) for call in calls_within(request.root)])


def _step(call: SpanNode) -> SequenceStep:
    callee = target_of(call)
    handled = [node for node in call.below() if node is not call and node.enters and _above(node) is call]
    inner = [step for node in handled for step in _inner(call, node, callee)]
    seconds = call.duration / NS_PER_S
    kind = kind_of(call, callee)
    return SequenceStep(
        call.service, callee, kind, what_of(call), seconds, call.kind != PRODUCER, call.failed, folded(inner)
    )


def _inner(call: SpanNode, node: SpanNode, callee: str) -> Iterator[SequenceStep]:
    """Yield the steps of a callee. For a message, its delivery comes first."""
    own = [_step(inner) for inner in calls_within(node)]
    if call.kind != PRODUCER:
        yield from own
    else:
        seconds = node.duration / NS_PER_S
        yield SequenceStep(
            callee, node.service, CalleeKind.SERVICE, node.name, seconds, False, node.failed, folded(own)
        )


def _above(node: SpanNode) -> SpanNode | None:
    """Return the call by which a service came to handle something."""
    parent = node.parent
    while parent is not None and not parent.leaves and not parent.enters:
        parent = parent.parent
    return parent


def folded(listed: Sequence[SequenceStep]) -> tuple[Part, ...]:
    """Return steps with each block that is repeated at once made a loop: the longest repetition from the left."""
    parts: list[Part] = []
    at = 0
    while at < len(listed):
        length, times = _repetition(listed, at)
        if times > 1:
            parts.append(Loop(times, tuple(listed[at : at + length])))
        else:
            parts.append(listed[at])
        at += length * times
    return tuple(parts)


def _repetition(listed: Sequence[SequenceStep], at: int) -> tuple[int, int]:
    """Return the block from here that covers most steps by repetition: its length, and how often it comes."""
    counted = [(length, _times(listed, at, length)) for length in range(1, LONGEST_BLOCK + 1)]
    repeated = [(length, times) for length, times in counted if times > 1]
    return max(repeated, key=lambda block: (block[0] * block[1], -block[0]), default=(1, 1))


def _times(listed: Sequence[SequenceStep], at: int, length: int) -> int:
    block = [step.shape for step in listed[at : at + length]]
    times = 1
    while [step.shape for step in listed[at + times * length : at + (times + 1) * length]] == block and block:
        times += 1
    return times


def flat(parts: Sequence[Part]) -> Iterator[SequenceStep]:
    """Every step, those of loops once, with what is within each."""
    for part in parts:
        for step in part.block if isinstance(part, Loop) else (part,):
            yield step
            yield from flat(step.inner)
