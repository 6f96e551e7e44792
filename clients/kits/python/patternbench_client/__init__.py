"""What every client in Python shares: the contract's server, rounds, users and rows, on asyncio and httpx."""

from patternbench_client.adapter import Adapter, Attempt, Call, Description, Refusal
from patternbench_client.main import serve
from patternbench_client.outcomes import Outcome, is_success
from patternbench_client.rounds import Backoff, Retry, Round

__all__ = [
    "Adapter",
    "Attempt",
    "Backoff",
    "Call",
    "Description",
    "Outcome",
    "Refusal",
    "Retry",
    "Round",
    "is_success",
    "serve",
]
