"""An event loop that waits as precisely as the system can."""

from __future__ import annotations

import asyncio
import ctypes
import select
import selectors

PR_SET_TIMERSLACK = 29
"""Of ``prctl``: by how many nanoseconds the kernel may delay a thread's waits, to wake several at once."""


def precise() -> asyncio.AbstractEventLoop:
    """Make the event loop of a client, for the thread that is to run it."""
    ctypes.CDLL(None).prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1))  # 50 us otherwise; where it is refused, so it stays
    return asyncio.SelectorEventLoop(PreciseEpoll())


class PreciseEpoll(selectors.EpollSelector):
    """Waits by ``select``, which counts microseconds, for epoll, which counts milliseconds and rounds up."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait as long for any of its files, not at all for 0, without end for None."""
        if timeout is not None and timeout > 0:
            select.select([self], [], [], timeout)
            timeout = 0
        return super().select(timeout)
