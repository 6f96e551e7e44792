"""Which driver puts a scenario's load on the system."""

from __future__ import annotations

from collections.abc import Iterable

from patternbench.drivers.driver import Treatment
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem, distinct

NATIVE = "native"
"""The load engine as a client: it is given rounds as any other, or jobs where a study asks for what only those have."""


def by_engine(study: Study, client: str) -> bool:
    """Whether a client's rounds are jobs of the load engine: all of a study or none, so that records are comparable."""
    return client == NATIVE and study.engine_only


def needs_engine(treatment: Treatment) -> bool:
    """True unless the scenario is a single request and a closed workload: what a library's client can."""
    return treatment.workload.engine_only or treatment.system.direct


def kind(treatment: Treatment) -> str:
    """The parts of a scenario that need the engine, in words."""
    workload, system = treatment.workload, treatment.system
    if system.direct:
        return system.about
    return workload.engine_needs or "nothing"


def problems(treatment: Treatment) -> list[Problem]:
    """Why no driver can do a scenario: its client is a library's and what it asks for is the engine's."""
    if treatment.client == NATIVE or not needs_engine(treatment):
        return []
    why = kind(treatment)
    message = f"client {treatment.client} cannot drive {why}: a library's client only has closed workloads of one"
    path = "system" if treatment.system.direct else "workload"
    return [Problem(f"{message} request", path=path, allowed=f"client {NATIVE}, or one URL and closed with request")]


def check(treatments: Iterable[Treatment]) -> None:
    """Raise InputError naming every client that is given what it cannot drive."""
    refused = distinct(problem for treatment in treatments for problem in problems(treatment))
    if refused:
        raise InputError(refused)
