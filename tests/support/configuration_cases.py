"""Policies to write into every form of configuration: those of the shared vectors, and stacks that people run."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from tests.support.studies import ROOT

from patternbench.configurations.patterns import Patterns
from patternbench.study.workload.policies import Policy
from patternbench.terms.units import Duration

VECTORS = ROOT / "contracts" / "client" / "vectors"
GOLDEN = "configurations"
"""The folder of the golden files, which the tests in Java, C# and Go read as well."""
TRANSIENT = [408, 429, "500-599", "timeout", "connection_error"]
"""The failures of .NET's standard handler."""
STACKS: Mapping[str, list[dict[str, Any]]] = {
    "stack time-outs of a call and of each attempt": [
        {"timeout": "2s"},
        {"retry": {"max_attempts": 3, "backoff": {"exponential": {"initial": "50ms"}}, "jitter": "full"}},
        {"timeout": "250ms"},
    ],
    "stack retry in the sidecar's words": [
        {
            "retry": {
                "max_attempts": 3,
                "backoff": {"exponential": {"initial": "25ms", "max": "250ms"}},
                "jitter": "full",
                "on": ["500-599"],
                "retry_after_max": "0ms",
            }
        }
    ],
    "stack breaker around a retry": [
        {
            "circuit_breaker": {
                "failure_rate": 50,
                "window": {"time": "10s"},
                "minimum_calls": 20,
                "open_for": "5s",
                "half_open_calls": 1,
            }
        },
        {
            "retry": {
                "max_attempts": 2,
                "backoff": {"fixed": {"delay": "100ms"}},
                "jitter": 0.25,
                "retry_after_max": "0ms",
            }
        },
    ],
    "stack retry around a breaker": [
        {"retry": {"max_attempts": 4, "backoff": {"linear": {"initial": "10ms", "increment": "10ms"}}}},
        {
            "circuit_breaker": {
                "failure_rate": 100,
                "window": {"calls": 5},
                "minimum_calls": 5,
                "open_for": "500ms",
                "half_open_calls": 2,
                "slow_call": {"rate": 80, "duration": "1s"},
                "on": ["500-599", "timeout"],
                "scope": "user",
            }
        },
    ],
    "stack bulkhead": [{"bulkhead": {"max_concurrent": 24}}],
    "stack bulkhead at which calls wait": [{"bulkhead": {"max_concurrent": 4, "max_waiting": 8, "max_wait": "100ms"}}],
    "stack rate limit": [{"rate_limit": {"calls": 10, "per": "1s"}}],
    "stack rate limit with a burst and a wait": [
        {"rate_limit": {"calls": 20, "per": "1s", "burst": 5, "max_wait": "250ms"}}
    ],
    "stack retry with a budget": [
        {
            "retry": {
                "max_attempts": 3,
                "backoff": {"fixed": {"delay": "0ms"}},
                "on": [503, "timeout", "connection_error"],
            }
        },
        {"retry_budget": {"ratio": 0.2, "min_per_s": 10, "capacity": 100}},
    ],
    "stack hedge within a deadline": [{"deadline": "1s"}, {"hedge": {"delay": "50ms"}}],
    "stack the standard handler": [
        {"bulkhead": {"max_concurrent": 1000}},
        {"timeout": "30s"},
        {
            "retry": {
                "max_attempts": 4,
                "backoff": {"exponential": {"initial": "2s"}},
                "on": TRANSIENT,
                "retry_after_max": "0ms",
            }
        },
        {
            "circuit_breaker": {
                "failure_rate": 10,
                "window": {"time": "30s"},
                "minimum_calls": 100,
                "open_for": "5s",
                "half_open_calls": 1,
                "on": TRANSIENT,
            }
        },
        {"timeout": "10s"},
    ],
}

AGAIN: dict[str, Any] = {
    "retry": {"max_attempts": 2, "backoff": {"fixed": {"delay": "0ms"}}, "on": TRANSIENT, "retry_after_max": "0ms"},
}


def slug(name: str) -> str:
    """The name of a case as that of its file."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")


def vectors(name: str) -> list[dict[str, Any]]:
    """The cases of a file of shared vectors."""
    cases: list[dict[str, Any]] = json.loads((VECTORS / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    return cases


def of_study(node: Any) -> Any:
    """Plain data of the contract as a study writes it: ``delay_us: 20000`` is ``delay: 20000us``."""
    if not isinstance(node, dict):
        return node
    named = {key: value for key, value in node.items() if value is not None}
    return {key.removesuffix("_us"): f"{v}us" if key.endswith("_us") else of_study(v) for key, v in named.items()}


def patterns(stack: list[dict[str, Any]], attempt_timeout: str | None = None) -> Patterns:
    """Policies as a study writes them."""
    timeout = Duration.parse(attempt_timeout) if attempt_timeout else None
    return Patterns(tuple(Policy.model_validate(policy) for policy in stack), timeout)


def retry_of(backoff: dict[str, Any], attempts: int = 6) -> dict[str, Any]:
    """A retry of a vector's back-off, which does not honour Retry-After."""
    return {"retry": {"max_attempts": attempts, "backoff": of_study(backoff), "retry_after_max": "0ms"}}


STRETCH = 25
"""How much longer the times of a breaker's vector are for .NET's handler, whose shortest open time is half a second."""


@cache
def cases(form: str) -> Mapping[str, Patterns]:
    """The cases of a form by the names of their files.

    .NET's handler has other failures, a retry always, and no window of calls: it gets the vectors as it can say them.
    """
    of_vectors = _of_the_handler() if form == "polly" else _of_clients()
    return {**dict(of_vectors), **dict(_stacks())}


def _of_clients() -> Iterator[tuple[str, Patterns]]:
    for vector in vectors("backoff"):
        yield slug(f"backoff {vector['name']}"), patterns([retry_of(vector["backoff"])])
    for vector in vectors("breaker"):
        breaker = {"circuit_breaker": of_study(vector["circuit_breaker"])}
        yield slug(f"breaker {vector['name']}"), patterns([breaker])


def _of_the_handler() -> Iterator[tuple[str, Patterns]]:
    for vector in vectors("backoff"):
        retry = {"retry": retry_of(vector["backoff"])["retry"] | {"on": TRANSIENT}}
        yield slug(f"backoff {vector['name']}"), patterns([retry])
    for vector in vectors("breaker"):
        breaker = {"circuit_breaker": of_study(stretched(vector["circuit_breaker"])) | {"on": TRANSIENT}}
        yield slug(f"breaker {vector['name']}"), patterns([AGAIN, breaker], "1s")


def stretched(node: Any) -> Any:
    """Plain data of the contract with longer times."""
    if not isinstance(node, dict):
        return node
    times = {key: value * STRETCH for key, value in node.items() if key.endswith("_us")}
    return {key: times.get(key, stretched(value)) for key, value in node.items()}


def _stacks() -> Iterator[tuple[str, Patterns]]:
    for name, stack in STACKS.items():
        yield slug(name), patterns(stack)
    yield "stack-retry-with-the-time-out-of-the-request", patterns(STACKS["stack retry in the sidecar's words"], "1s")
