"""Calls that may hang, such as those to a lost node, side by side instead of one after another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Thread


def at_once(calls: Iterable[Callable[[], object]], within_s: float) -> None:
    """Make all calls at once; returns once all are over, or after this time, whichever comes first.

    A call that is not over by then goes on, and holds no one up. Raises the first error of a call, once all were made.
    """
    errors: list[Exception] = []

    def made(call: Callable[[], object]) -> None:
        try:
            call()
        except Exception as error:  # Whatever it is, the other calls are made.
            errors.append(error)

    threads = [Thread(target=made, args=[call], daemon=True) for call in calls]
    for thread in threads:
        thread.start()
    given_up_s = time.monotonic() + within_s
    for thread in threads:
        thread.join(max(0.0, given_up_s - time.monotonic()))
    if errors:
        raise errors[0]
