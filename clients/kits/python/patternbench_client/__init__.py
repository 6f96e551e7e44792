"""What every client in Python shares: the contract's server, rounds, users and rows, on asyncio and httpx."""

from patternbench_client.adapter import (
    Adapter,
    Description,
    Entry,
    Guard,
    Guarded,
    Refusal,
    lacking,
    retry_after,
)
from patternbench_client.main import serve
from patternbench_client.outcomes import Outcome, Rejected, is_success
from patternbench_client.rounds import Backoff, CircuitBreaker, Policy, Retry, Round, SlowCall, Window

__all__ = [
    "Adapter",
    "Backoff",
    "CircuitBreaker",
    "Description",
    "Entry",
    "Guard",
    "Guarded",
    "Outcome",
    "Policy",
    "Refusal",
    "Rejected",
    "Retry",
    "Round",
    "SlowCall",
    "Window",
    "is_success",
    "lacking",
    "retry_after",
    "serve",
]
