"""Facts of the rate-limiting filter's contract that more than one room needs.

Held equal to contracts/ratelimit/plan.schema.json by a test, as the filter's own Lua is.
"""

from __future__ import annotations

from patternbench.terms.units import Duration

WITHOUT_LEASE = ("leaky_bucket", "gcra")
"""They compute times, and a lease needs units that are counted."""
COUNTING = ("fixed_window", "sliding_window_log", "sliding_window_counter")
WITH_BURST = ("token_bucket", *WITHOUT_LEASE)
ALGORITHMS = (*COUNTING, *WITH_BURST)
LEASES = ("lazy", "eager")
SUB_WINDOWS = 5
"""Of the sliding window counter."""
LEASE_SIZES = ("static", "dynamic")
LEASE_SIZE, LEASE_SHARE, LEASE_MOST, LEASE_EXPIRES = LEASE_SIZES[0], 0.5, 1_000_000, Duration.parse("1s")
"""A lease's size, its share of what remains (0 to 1), the most units in it, and how long it holds."""
LEASE_HOLDERS = ("worker", "balancer")
LEASE_HOLDER = LEASE_HOLDERS[0]
"""The holder of a lease: each worker of a balancer by itself, or all its workers together."""
SHORTEST_LEASE, LONGEST_LEASE = Duration.parse("10ms"), Duration.parse("60s")
"""Between what a lease may hold."""
GOSSIP = Duration.parse("10ms")
"""How often a sidecar sends to its peers; the distance between them is added."""
