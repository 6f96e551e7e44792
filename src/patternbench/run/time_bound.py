"""The time bound of a run: how long it may measure, in whole blocks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import inf

from patternbench.plan.order import Round


@dataclass
class TimeBound:
    """Begins a block only if it would end within ``seconds``, by the longest one so far.

    Half a block is worth nothing: comparisons are made within blocks. The first block has no measure yet, and begins as
    long as any time is left.
    """

    seconds: float = inf
    clock: Callable[[], float] = time.monotonic
    is_over: bool = False
    _ends: float = field(init=False)
    _began: float | None = None
    _longest: float = 0.0

    def __post_init__(self) -> None:
        """Begin to count."""
        self._ends = self.clock() + self.seconds

    def in_time(self, batches: Iterable[Iterable[Round]]) -> Iterator[Iterator[Round]]:
        """Yield the batches of rounds whose blocks end in time; after one that is cut short, no other is asked for."""
        for batch in batches:
            yield self._blocks_of(batch)
            if self.is_over:
                return

    def _blocks_of(self, batch: Iterable[Round]) -> Iterator[Round]:
        block = None
        for round_ in batch:
            if round_.block != block and not self._begins():
                return
            block = round_.block
            yield round_
        self._ended()

    def _begins(self) -> bool:
        """Whether the next block may begin; the one before has ended."""
        self._ended()
        now = self.clock()
        self.is_over = now >= self._ends or now + self._longest > self._ends
        self._began = now
        return not self.is_over

    def _ended(self) -> None:
        """Take note of how long a block took that has just ended."""
        if self._began is not None:
            self._longest = max(self._longest, self.clock() - self._began)
            self._began = None
