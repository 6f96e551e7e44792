"""How long a run will take, roughly, before anything has been measured."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from patternbench.plan.scenarios import Scenario

ATTEMPT_S = 0.02
"""What an attempt takes when nobody waits: a guess for a small service on one machine."""
CAPACITY_PER_S = 600.0
"""What such a service answers per second at most: a guess too."""
OVERHEAD_S = 0.1
"""What lies between two rounds on a system that stays up."""
UNKNOWN_S = 30.0
"""What a schedule lasts whose length only its file knows: a guess."""
LARGEST_FAULT = 0.99


def seconds(scenarios: tuple[Scenario, ...], rounds: int, warm_up_s: Mapping[str, float]) -> float:
    """A guess of the whole run's duration in seconds: attempts needed, at the guessed pace, plus back-off.

    `warm_up_s` has what each of a client's rounds begins with, unmeasured; a client that it lacks warms up once.
    """
    each = (round_seconds(one.config) + warm_up_s.get(one.client, 0.0) + OVERHEAD_S for one in scenarios)
    return sum(each) * rounds


def round_seconds(config: dict[str, Any]) -> float:
    """A guess of one round's duration in seconds."""
    workload = config["workload"]
    closed = workload.get("closed", {})
    lasting = closed.get("duration") or workload.get("open", {}).get("duration") or workload.get("duration")
    if lasting:
        return float(lasting.seconds)
    return _counted(config, closed) if closed else UNKNOWN_S


def _counted(config: dict[str, Any], closed: dict[str, Any]) -> float:
    """What a closed workload takes that ends by a count of each user's calls."""
    calls = closed.get("successes") or closed.get("requests")
    failing = min(config["faults"].get("abort", {}).get("percentage", 0) / 100, LARGEST_FAULT)
    failures = calls * failing / (1 - failing)
    alone = (calls + failures) * ATTEMPT_S + failures * _pause(config["strategy"])
    crowded = closed["users"] * calls / CAPACITY_PER_S
    thinking = closed["think_time"].seconds * calls
    return float(max(alone, crowded) + thinking)


def _pause(strategy: dict[str, Any]) -> float:
    """What a failure costs in waiting, in seconds: the first back-off, or a breaker's open time once in two."""
    strategy = strategy | {kind: policy for entry in strategy.get("stack", []) for kind, policy in entry.items()}
    if "circuit_breaker" in strategy:
        return float(strategy["circuit_breaker"]["open_for"].seconds) / 2
    backoff: dict[str, Any] = next(iter(strategy.get("retry", {}).get("backoff", {}).values()), {})
    first = backoff.get("initial") or backoff.get("delay")
    return float(first.seconds) if first else 0.0
