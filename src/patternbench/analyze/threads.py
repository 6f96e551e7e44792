"""How many threads the linear algebra of an analysis has: one.

Our matrices have many rows and few columns, and are decomposed in blocks that fit in a cache. Threads that wait for
each other at each block cost more than they give: on two processors one and a half times the CPU time, and on a busy
machine three times the wait.
"""

from __future__ import annotations

from contextlib import AbstractContextManager

from threadpoolctl import threadpool_limits


def one_thread() -> AbstractContextManager[object]:
    """Limit the linear algebra that the caller has loaded to one thread; use as a context."""
    limits: AbstractContextManager[object] = threadpool_limits(1, user_api="blas")
    return limits
