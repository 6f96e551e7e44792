"""Which driver puts a scenario's load on the system."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from patternbench.study.models import Study, is_socket
from patternbench.study.problems import InputError, Problem

NATIVE = "native"
"""The client whose rounds the load engine may drive."""


def by_engine(study: Study, client: str) -> bool:
    """Whether the load engine drives a client's rounds: all of them, so that one generator stands behind them all."""
    return client == NATIVE and study.engine_only


def needs_engine(config: Mapping[str, Any]) -> bool:
    """Whether only the engine can drive a scenario: all but one request by users who wait, with one pattern at most."""
    workload = config["workload"]
    plain = "closed" in workload and "requests" not in workload["closed"] and "request" in workload
    return not plain or "stack" in config["strategy"] or _is_direct(config["system"])


def _is_direct(system: Mapping[str, Any]) -> bool:
    return "urls" in system or is_socket(system.get("url", ""))


def kind(config: Mapping[str, Any]) -> str:
    """What about a scenario needs the engine, in words."""
    workload = config["workload"]
    if "stack" in config["strategy"]:
        return "a stack of policies"
    if _is_direct(config["system"]):
        return "several URLs" if "urls" in config["system"] else "a Unix socket"
    if "closed" not in workload:
        return "groups" if "groups" in workload else "an open workload"
    return "a journey" if "request" not in workload else "closed.requests"


def problems(config: Mapping[str, Any]) -> list[Problem]:
    """Why no driver can do a scenario: its client is a library's and what it asks for is the engine's."""
    if config["client"] == NATIVE or not needs_engine(config):
        return []
    message = f"client {config['client']} cannot drive {kind(config)}: a library's client has users who wait for one"
    path = "strategies" if "stack" in config["strategy"] else "workload"
    path = "system" if kind(config) in ("several URLs", "a Unix socket") else path
    allowed = f"client {NATIVE}, or one URL, closed with request, and one of baseline, retry, circuit_breaker"
    return [Problem(f"{message} request, and one pattern", path=path, allowed=allowed)]


def check(configs: Iterable[Mapping[str, Any]]) -> None:
    """Raise InputError naming every client that is given what it cannot drive."""
    found = {str(problem): problem for config in configs for problem in problems(config)}
    if found:
        raise InputError(list(found.values()))
