"""Which driver puts a scenario's load on the system."""

from __future__ import annotations

from collections.abc import Iterable

from patternbench.drivers.driver import Treatment
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem, distinct

NATIVE = "native"
"""The load engine as a client. Next to clients of libraries it is given rounds as they are, else jobs."""


def engine_clients(study: Study) -> frozenset[str]:
    """Return the clients whose rounds are jobs of the load engine: all rounds of a study, or none.

    Next to clients of libraries the native client keeps their contract. Alone it drives everything as jobs.
    """
    alone = {name for strategy in study.strategies for name in strategy.client} == {NATIVE}
    return frozenset({NATIVE}) if study.engine_only or alone else frozenset()


def engine_clients_before(study: Study) -> frozenset[str]:
    """Return the same in runs of earlier versions, whose manifests don't say it."""
    return frozenset({NATIVE}) if study.engine_only else frozenset()


def adds_warm_up(study: Study) -> bool:
    """Whether a round's warm-up comes on top of its time limit: so it is wherever clients of libraries could drive."""
    return not study.engine_only


def needs_engine(treatment: Treatment) -> bool:
    """Return true unless the scenario is a single request and a closed workload: what a library's client can."""
    return treatment.workload.engine_only or treatment.system.direct


def kind(treatment: Treatment) -> str:
    """Return the parts of a scenario that need the engine, in words."""
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


def split_problems(study: Study, treatments: Iterable[Treatment]) -> list[Problem]:
    """Why several generators can't make the load of a study: clients of libraries drive rounds of it."""
    alone = {treatment.client for treatment in treatments} - engine_clients(study)
    if study.generators == 1 or not alone:
        return []
    message = f"client {', '.join(sorted(alone))} makes its load alone: only the load engine's can be split"
    hint = f"leave `generators` out, or give every strategy the client {NATIVE}"
    return [Problem(message, path="generators", value=study.generators, allowed="1", hint=hint)]


def start_problems(study: Study) -> list[Problem]:
    """Why a study can't say what warms a started system: clients of libraries warm it by ``warm_up`` alone."""
    if study.after_start is None or engine_clients(study):
        return []
    message = "is for rounds that the load engine drives: a library's client warms what was started by `warm_up`"
    return [Problem(message, path="after_start", allowed="no `after_start`", hint="leave it out, and set `warm_up`")]


def check(treatments: Iterable[Treatment]) -> None:
    """Raise InputError naming every client that is given what it cannot drive."""
    refused = distinct(problem for treatment in treatments for problem in problems(treatment))
    if refused:
        raise InputError(refused)
