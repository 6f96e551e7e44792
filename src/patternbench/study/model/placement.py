"""Where the services of a system run, and what each of them may use: processes of the machine, or a container each.

A system gets this among its settings, under names that no setting of a system file can have: ``.in`` for all of it,
and ``gateway.cpus`` for one of its components.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from patternbench.study.model.amounts import MemorySize
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Sparse
from patternbench.terms.units import Number

PROCESSES, CONTAINERS = "processes", "containers"
Place = Literal["processes", "containers"]
Unlimited = Literal["none"]
UNLIMITED = "none"
IN = ".in"
"""The name under which a system gets the place of its services."""
MOST_REPLICAS = 100


class ServiceResources(Sparse):
    """The instances of a service, and what each of them may use: processors' time (``0.5``) and memory (``512MiB``).

    Whatever is left open is as the system file says; ``none`` takes a limit away.
    """

    replicas: Levels[Annotated[int, Field(ge=1, le=MOST_REPLICAS)]] | None = None
    cpus: Levels[Annotated[Number, Field(ge=0.01, le=1024)] | Unlimited] | None = None
    memory: Levels[Unlimited | MemorySize] | None = None


RESOURCES = tuple(ServiceResources.model_fields)
"""What may be said of a service."""


def resource_of(setting: str) -> tuple[str, str] | None:
    """Return the service and the resource that a name such as ``gateway.cpus`` is about; None for another name."""
    service, _, resource = setting.rpartition(".")
    return (service, resource) if service and resource in RESOURCES else None
