"""Threads that ask a system all the time while a test does something to it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass

GLANCE_S = 0.02


@dataclass(frozen=True)
class Asking:
    """The threads at work."""

    threads: Sequence[Future[None]]

    def until(self, holds: Callable[[], bool]) -> None:
        """Return when something holds. Raises the error of a thread that died.

        Only the time-out of the test limits the wait.
        """
        pause = threading.Event()
        while not holds():
            self.check()
            pause.wait(GLANCE_S)

    def check(self) -> None:
        """Raise the error of the first thread that died."""
        for thread in self.threads:
            if thread.done():
                thread.result()


@contextmanager
def asking(asks: Sequence[Callable[[], object]], pause_s: float = 0.0) -> Iterator[Asking]:
    """Repeat each call in a thread of its own until the block ends.

    The error of a thread is raised at the end of the block, also where the block failed for want of its answers.
    """
    over = threading.Event()

    def repeat(ask: Callable[[], object]) -> None:
        while not over.wait(pause_s):
            ask()

    with ThreadPoolExecutor(len(asks)) as pool:
        at_work = Asking([pool.submit(repeat, ask) for ask in asks])
        try:
            yield at_work
        finally:
            over.set()
            wait(at_work.threads)
            at_work.check()
