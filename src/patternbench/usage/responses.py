"""The responses of usage, which a study names: CPU time and memory of some components together."""

from __future__ import annotations

from collections.abc import Iterable

from patternbench.terms.responses import Better, Response
from patternbench.usage.question import USAGE_PREFIX, usage_name

CPU, MEMORY = "cpu_s", "memory_mib"


def responses(names: Iterable[str]) -> list[Response]:
    """Return both responses of each name."""
    return [response for name in names for response in _of(name)]


def _of(name: str) -> tuple[Response, Response]:
    cpu = f"CPU seconds of {name} during the load"
    memory = f"memory of {name} at the end of the load, with the parts of what several processes share"
    return (
        Response(usage_name(name, CPU), f"CPU time of {name}", "time", Better.LOWER, cpu),
        Response(usage_name(name, MEMORY), f"Memory of {name}", "count", Better.LOWER, memory, "MiB"),
    )


def names_in(columns: Iterable[str]) -> list[str]:
    """Return the names whose usage is among the columns of a table of rounds."""
    own = (column.removeprefix(USAGE_PREFIX) for column in columns if column.startswith(USAGE_PREFIX))
    return list(dict.fromkeys(column.rpartition(".")[0] for column in own))
