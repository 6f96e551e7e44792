"""The Markov chain of an M/M/1 queue whose callers send again once what is late, and which stands still for a while.

A call that is not answered within its time-out is sent again, once; the server does all attempts, also those that no
one waits for. The chain has the attempts at the server, and the calls that will be sent again: one that finds n ahead
of it will be with the chance that n + 1 of them take longer than the time-out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from scipy.sparse.linalg import expm_multiply

from patternbench.analyze.boundary.likelihood import HALF
from patternbench.terms.arrays import Floats

USUAL = 8
"""Up to this many attempts at the server nearly all calls are answered in time."""
MOST, MOST_AGAIN = 140, 24
"""Where the chain is cut off: attempts at the server, and calls that will be sent again."""


@dataclass(frozen=True)
class RetryQueue:
    """The queue: requests per second that it serves, the time-out, how long it stands still, and how long after that
    the last second of the round has its middle (all in seconds)."""

    served: float
    timeout: float
    frozen: float
    after: float

    def recovers(self, rate: float) -> float:
        """The chance that a round recovers."""
        ahead = np.arange(MOST + 1)
        late = stats.poisson.cdf(ahead, self.served * self.timeout)
        begin = np.zeros((MOST + 1, MOST_AGAIN + 1))
        load = rate / self.served
        for waiting in range(MOST_AGAIN):  # whoever is there when the server stops will be sent again
            begin[waiting, waiting] = (1 - load) * load**waiting
        standing = self._generator(rate, 0.0, np.ones(MOST + 1)).T * self.frozen
        end = expm_multiply(
            self._generator(rate, self.served, late).T * self.after, expm_multiply(standing, begin.ravel())
        )
        return float(end.reshape(begin.shape)[: USUAL + 1].sum())

    def boundary(self, rates: Floats) -> float:
        """The rate at which half of the rounds recover, between these."""
        return float(np.interp(-HALF, [-self.recovers(float(rate)) for rate in rates], rates))

    def _generator(self, rate: float, served: float, late: Floats) -> sparse.csr_matrix:
        """The rates between states; ``late`` is the chance of a call to be sent again, by the attempts ahead of it."""
        ahead, again = np.divmod(np.arange((MOST + 1) * (MOST_AGAIN + 1)), MOST_AGAIN + 1)
        moves = [
            (1, 1, rate * late[ahead]),
            (1, 0, rate * (1 - late[ahead])),
            (1, -1, again / self.timeout),
            (-1, 0, np.where(ahead > 0, served, 0.0)),
        ]
        size = len(ahead)
        total = sparse.csr_matrix((size, size))
        for more, waits, speed in moves:
            to = np.clip(ahead + more, 0, MOST) * (MOST_AGAIN + 1) + np.clip(again + waits, 0, MOST_AGAIN)
            total += sparse.csr_matrix((speed, (np.arange(size), to)), shape=(size, size))
        return total - sparse.diags(np.asarray(total.sum(axis=1)).ravel())
