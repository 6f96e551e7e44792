"""A limit as a balancer enforced it (contracts/ratelimit/plan.schema.json); what its rules leave out is assumed."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, PositiveInt

from patternbench.study.model.limiter import (
    LEASE_EXPIRES,
    LEASE_HOLDER,
    LEASE_MOST,
    LEASE_SHARE,
    LEASE_SIZE,
    SUB_WINDOWS,
)
from patternbench.terms.units import Duration, PositiveDuration

COPIES, OWN = "crdt", "memory"
"""The stores that are not one for all: a copy at every balancer, and a balancer's own memory."""


class LeaseTerms(BaseModel):
    """How a balancer leases: in which order, a share (0 to 1) of what remains, at most ``most`` units, for a time, and
    who holds it: each worker or all of a balancer."""

    model_config = ConfigDict(frozen=True)

    mode: str
    share: float = LEASE_SHARE
    expires: PositiveDuration = LEASE_EXPIRES
    size: str = LEASE_SIZE
    most: PositiveInt = LEASE_MOST
    holder: str = LEASE_HOLDER


class EnforcedLimit(BaseModel):
    """``limit`` units of each client in any ``window``; the rest where an algorithm has it."""

    model_config = ConfigDict(frozen=True)

    algorithm: str
    limit: PositiveInt
    window: PositiveDuration
    store: str
    burst: PositiveInt | None = None
    sub_windows: PositiveInt = SUB_WINDOWS
    lease: LeaseTerms | None = None

    @property
    def at_once(self) -> int:
        """How many units may come at once; the limit where no burst is given."""
        return self.burst or self.limit

    def __str__(self) -> str:
        """Return the limit in words: ``10 in 6s``."""
        return f"{self.limit} in {Duration(self.window.us)}"
