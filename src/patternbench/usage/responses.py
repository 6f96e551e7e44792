"""The responses of usage, which a study names: CPU time and memory of some components together; throttling, too."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from patternbench.terms.responses import Better, Response
from patternbench.usage.question import USAGE_PREFIX, usage_name

CPU, MEMORY, THROTTLED = "cpu_s", "memory_mib", "throttled_s"


def responses(names: Iterable[str], contained: Collection[str] = ()) -> list[Response]:
    """Return the responses of each name; ``contained`` are the names of services of Compose projects."""
    return [response for name in names for response in _of(name, name in contained)]


def _of(name: str, contained: bool) -> tuple[Response, ...]:
    cpu = f"CPU seconds of {name} during the load"
    memory = f"memory of {name} at the end of the load, with the parts of what several processes share"
    throttled = f"seconds of the load in which containers of {name} waited because their CPU time was used up"
    both = (
        Response(usage_name(name, CPU), f"CPU time of {name}", "time", Better.LOWER, cpu),
        Response(usage_name(name, MEMORY), f"Memory of {name}", "count", Better.LOWER, memory, "MiB"),
    )
    more = Response(usage_name(name, THROTTLED), f"Throttling of {name}", "time", Better.LOWER, throttled)
    return (*both, more) if contained else both


def names_in(columns: Iterable[str], what: str = "") -> list[str]:
    """Return the names whose usage is among the columns of a table of rounds: any of it, or one kind of it."""
    own = (column.removeprefix(USAGE_PREFIX).rpartition(".") for column in columns if column.startswith(USAGE_PREFIX))
    return list(dict.fromkeys(name for name, _, kind in own if kind == what or not what))
