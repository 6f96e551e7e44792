"""A fault at an entry of a system file acts at each of its replicas."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patternbench.study.faults import ARROW, Fault

Groups = Mapping[str, Sequence[str]]
"""The components of each entry, by the name that the system file gives it."""
FIRST = "-1"
"""The end of the name of the first of several replicas. A single replica also has the entry's own name."""


def at_each(fault: Fault, groups: Groups) -> list[Fault]:
    """Return the same fault at each component, or on each link, of its ``where``."""
    if fault.at_the_edge:
        return [fault]
    if fault.link is None:
        wheres = _components(fault.where, groups)
    else:
        consumers, producers = (_components(name, groups) for name in fault.link)
        wheres = [f"{consumer} {ARROW} {producer}" for consumer in consumers for producer in producers]
    return [fault.model_copy(update={"where": where}) for where in wheres]


def _components(name: str, groups: Groups) -> list[str]:
    single = name.removesuffix(FIRST)
    if name not in groups and list(groups.get(single, ())) == [single]:
        return [single]
    return list(groups.get(name) or [name])
