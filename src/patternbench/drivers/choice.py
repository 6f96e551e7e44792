"""Which driver puts a scenario's load on the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from patternbench.study.problems import InputError, Problem

NATIVE = "native"
"""The client whose workloads the load engine may drive."""
DRIVEN = ("baseline",)
"""The strategies that the load engine can use."""


def needs_engine(workload: Mapping[str, Any]) -> bool:
    """Whether only the engine can drive a workload: all but one request by users who wait."""
    return "closed" not in workload or "requests" in workload["closed"] or "request" not in workload


def kind(workload: Mapping[str, Any]) -> str:
    """What about a workload needs the engine, in words."""
    if "closed" not in workload:
        return "groups" if "groups" in workload else "an open workload"
    return "a journey" if "request" not in workload else "closed.requests"


def problems(config: Mapping[str, Any]) -> list[Problem]:
    """Why no driver can do a scenario: its client is a library's and its workload is the engine's."""
    if not needs_engine(config["workload"]):
        return []
    what, client, strategy = kind(config["workload"]), config["client"], next(iter(config["strategy"]))
    if client != NATIVE:
        message = f"client {client} cannot drive {what}: a library's client has users who wait for one request"
        return [Problem(message, path="workload", allowed=f"client {NATIVE}, or closed with request")]
    if strategy not in DRIVEN:
        message = f"client {NATIVE} cannot use {strategy} under {what}"
        return [Problem(message, path="strategies", value=strategy, allowed=", ".join(DRIVEN))]
    return []


def check(configs: Iterable[Mapping[str, Any]]) -> None:
    """Raise InputError naming every client that is given a workload which it cannot drive."""
    found = {str(problem): problem for config in configs for problem in problems(config)}
    if found:
        raise InputError(list(found.values()))
