"""Which layer of a service graph each caller and callee is in, and what edges pass: no coordinates yet."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from patternbench.traces.analyze.edges import EDGE, ServiceEdge

BEND = "\0"
"""Begins the name of a place where an edge passes a layer."""
Chain = tuple[str, ...]
"""The names that an edge leads through: caller and callee, and between them a bend in each layer that it passes."""


def chains_of(edges: Sequence[ServiceEdge]) -> list[Chain]:
    """Return the chain of each edge."""
    away = _distances([(edge.caller, edge.callee) for edge in edges])
    return [_chain(edge, away[edge.caller], away[edge.callee]) for edge in edges]


def layers_of(edges: Sequence[ServiceEdge], chains: Sequence[Chain]) -> list[list[str]]:
    """Names and bends by how many calls they are away from the load, each near to those that lead to it."""
    away = _distances([(edge.caller, edge.callee) for edge in edges])
    rightwards = [chain if away[chain[0]] <= away[chain[-1]] else chain[::-1] for chain in chains]
    for chain in rightwards:
        away |= {name: away[chain[0]] + number for number, name in enumerate(chain) if name not in away}
    layers: list[list[str]] = [[] for _ in range(max(away.values()) + 1)]
    for name, distance in away.items():
        layers[distance].append(name)
    return _untangled([layer for layer in layers if layer], [link for chain in rightwards for link in pairwise(chain)])


def _chain(edge: ServiceEdge, begin: int, end: int) -> Chain:
    passed = range(begin + 1, end) if begin < end else range(begin - 1, end, -1)
    return (edge.caller, *(f"{BEND}{edge.caller}{BEND}{edge.callee}{BEND}{layer}" for layer in passed), edge.callee)


def _distances(pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How many calls each name is away from the load, by the longest path that does not go in circles."""
    back = _backwards(pairs)
    onwards = [pair for pair in pairs if pair not in back]
    away = {name: 0 for pair in [(EDGE, EDGE), *pairs] for name in pair}
    for _ in onwards:
        for caller, callee in onwards:
            away[callee] = max(away[callee], away[caller] + 1)
    return away


def _backwards(pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """Return the calls that close a circle, seen from the load; without them the graph has none."""
    callees: dict[str, list[str]] = {}
    for caller, callee in pairs:
        callees.setdefault(caller, []).append(callee)
    back: set[tuple[str, str]] = set()
    seen: set[str] = set()
    waiting: list[Chain] = [(name,) for name in reversed([EDGE, *callees])]
    while waiting:
        path = waiting.pop()
        if path[-1] in seen:
            continue
        seen.add(path[-1])
        below = callees.get(path[-1], [])
        back |= {(path[-1], callee) for callee in below if callee in path}
        waiting += [(*path, callee) for callee in reversed(below) if callee not in path]
    return back


def _untangled(layers: list[list[str]], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """Return the names of each layer in the order of the middle of those that call them."""
    position: dict[str, float] = {}
    for layer in layers:
        for name in layer:
            callers = [position[one] for one, other in pairs if other == name and one in position]
            position[name] = sum(callers) / len(callers) if callers else 0.0
        layer.sort(key=position.__getitem__)
        position |= {name: index - len(layer) / 2 for index, name in enumerate(layer)}
    return layers
