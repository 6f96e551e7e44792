"""Deals the blocks of a run to lanes: each lane runs whole blocks, and a block that loses its lane is run again.

What a lane is made of (an actor of a cluster, a thread of a test) is the affair of ``Lanes``. Nothing that a lane says
is believed unless it was asked for: a result counts once, from the lane that has the order, for the try that is open.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import attrgetter
from typing import Protocol

from patternbench.records.folder import RunFolder
from patternbench.records.journal import voids
from patternbench.run.lanes.receiving import UnusableError, checked, keep
from patternbench.run.lanes.voiding import owners
from patternbench.run.lanes.worker import LaneDelivery
from patternbench.run.round.orders import RoundOrder, RoundResult
from patternbench.terms.problems import InputError, Problem

GLANCE_S = 1.0
"""How often lanes are looked at that say nothing."""
PATIENCE_S = 120.0
"""How long a run without a lane waits for one to come."""


@dataclass(frozen=True)
class LaneResult:
    """A lane hands over what came of an order."""

    lane: str
    delivery: LaneDelivery


@dataclass(frozen=True)
class LaneLoss:
    """A lane is gone, or can no longer be relied on."""

    lane: str
    why: str


class Lanes(Protocol):
    """The lanes of a place."""

    def up(self) -> list[str]:
        """Return the names of the lanes that can be given work, in their order; one that comes late is among them."""

    def begin(self, lane: str, order: RoundOrder) -> None:
        """Have a lane begin an order."""

    def event(self, within_s: float) -> LaneResult | LaneLoss | None:
        """Return what happened first; None where nothing did in that time."""

    def drop(self, lane: str) -> None:
        """Have nothing more to do with a lane, which can't be relied on."""


@dataclass
class _OpenBlock:
    """A block on its lane: the orders still to come, and the one that is being carried out."""

    whole: list[RoundOrder]
    left: deque[RoundOrder]
    current: RoundOrder | None = None


@dataclass
class DealingExecutor:
    """Has lanes carry out orders, block by block.

    A block that was begun in an earlier session continues on its lane. If that is lost, its earlier rounds have to be
    run again as well, of which there are no orders here: the block is ``divided``, and left to the caller. ``refused``
    counts the results that no one waited for.
    """

    lanes: Lanes
    folder: RunFolder
    clock: Callable[[], float] = time.monotonic
    refused: int = 0
    divided: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._owners: dict[int, str] = {}
        self._begun: set[str] = set()
        self._dealt: dict[str, _OpenBlock] = {}
        self._waiting: deque[list[RoundOrder]] = deque()
        self._lost: dict[str, str] = {}
        """The lanes that were lost, with why: none of them comes again."""
        self._idle_since: float | None = None
        self._all_given = False

    def map(self, batches: Iterable[Iterable[RoundOrder]]) -> Iterator[RoundResult]:
        """Yield the result of each order and a note on each block that lost its lane, as they come."""
        self._owners = dict(owners(self.folder))
        for batch in batches:
            blocks = (list(block) for _, block in groupby(batch, key=attrgetter("block")))
            yield from self._batch(blocks)

    def _batch(self, blocks: Iterator[list[RoundOrder]]) -> Iterator[RoundResult]:
        self._all_given = False
        while True:
            self._deal(blocks)
            yield from self._orphaned()
            if self._all_given and not self._dealt and not self._waiting:
                return
            self._check_patience()
            event = self.lanes.event(GLANCE_S)
            if isinstance(event, LaneLoss):
                yield from self._voided(event)
            elif event is not None:
                yield from self._taken(event)

    def _deal(self, blocks: Iterator[list[RoundOrder]]) -> None:
        """Give each idle lane a block: one that waits for it or for anybody, else the next."""
        for lane in self.lanes.up():
            if lane in self._dealt:
                continue
            block = self._waiting_for(lane) or self._next_for(lane, blocks)
            if block:
                orders = deque(self._fresh(order).on(lane) for order in block)
                self._begun |= {order.id for order in orders}
                self._dealt[lane] = _OpenBlock(block, orders)
                self._begin_next(lane)

    def _fresh(self, order: RoundOrder) -> RoundOrder:
        """Return the order of a try that no lane was ever given: no late result of an earlier one counts for it."""
        while order.id in self._begun:
            order = order.again()
        return order

    def _waiting_for(self, lane: str) -> list[RoundOrder] | None:
        for block in self._waiting:
            if self._owners.get(block[0].block, lane) == lane:
                self._waiting.remove(block)
                return block
        return None

    def _next_for(self, lane: str, blocks: Iterator[list[RoundOrder]]) -> list[RoundOrder] | None:
        """Return the next block that this lane may run; those that were begun on another one wait for it."""
        for block in blocks:
            if self._owners.get(block[0].block, lane) == lane:
                return block
            self._waiting.append(block)
        self._all_given = True
        return None

    def _begin_next(self, lane: str) -> None:
        dealt = self._dealt[lane]
        dealt.current = dealt.left.popleft() if dealt.left else None
        if dealt.current is None:
            del self._dealt[lane]
        else:
            self.lanes.begin(lane, dealt.current)

    def _check_patience(self) -> None:
        """Raise InputError where no lane has been up for long."""
        if self.lanes.up():
            self._idle_since = None
            return
        now = self.clock()
        self._idle_since = now if self._idle_since is None else self._idle_since
        if now - self._idle_since > PATIENCE_S:
            hint = f"bring lanes up, then type `patternbench resume {self.folder.path}`"
            raise InputError(Problem("no lane is left", file=str(self.folder.path), hint=hint))

    def _taken(self, event: LaneResult) -> Iterator[RoundResult]:
        """Yield the result of the order that the lane has; others are refused, and so are damaged ones.

        The lane begins the next round of its block before the disk has this one: it need not wait for that.
        """
        dealt = self._dealt.get(event.lane)
        expected = dealt.current if dealt else None
        try:
            result = checked(event.delivery, expected)
        except UnusableError as error:
            self.refused += 1
            if error.of_open_order:
                self.lanes.drop(event.lane)
                yield from self._voided(LaneLoss(event.lane, str(error)))
            return
        self._begin_next(event.lane)
        keep(event.delivery, self.folder)
        yield replace(result, entry=replace(result.entry, lane=event.lane))

    def _voided(self, event: LaneLoss) -> Iterator[RoundResult]:
        """Void the block that a lost lane has, and those that waited for it; they are run again."""
        self._lost[event.lane] = event.why
        dealt = self._dealt.pop(event.lane, None)
        if dealt:
            yield self._void(dealt.whole, event.lane)
        yield from self._orphaned()

    def _orphaned(self) -> Iterator[RoundResult]:
        """Void the blocks that wait for a lane which was lost, also where it was lost before they were due."""
        for block in [*self._waiting]:
            lane = self._owners.get(block[0].block, "")
            if lane in self._lost:
                self._waiting.remove(block)
                yield self._void(block, lane)

    def _void(self, block: list[RoundOrder], lane: str) -> RoundResult:
        """Return the line that voids a block of a lost lane, which is run again."""
        number = block[0].block
        if self._owners.pop(number, None) is None:
            self._waiting.append(block)
        else:
            self.divided.add(number)
        return RoundResult(voids(number, lane, self._lost[lane]))
