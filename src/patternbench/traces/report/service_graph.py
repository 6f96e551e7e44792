"""The service graph as a drawing: who calls whom from left to right, how often, how long it takes, what fails."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from patternbench.report.labels import number, shown
from patternbench.traces.analyze.edges import EDGE, CalleeKind, ServiceEdge
from patternbench.traces.report.drawing import Element, drawn, element, label, shortened, titled, width_of

GAP_X, GAP_Y, HEIGHT, MARGIN = 210.0, 104.0, 46.0, 26.0
LETTERS = 26
BEND = "\0"
"""Begins the name of a place where an edge passes a layer."""
HEAD = 8.0


@dataclass(frozen=True)
class _Box:
    """A caller or callee in its place: ``x`` and ``y`` are its middle."""

    name: str
    kind: str
    x: float
    y: float
    width: float

    @property
    def left(self) -> float:
        return self.x - self.width / 2

    @property
    def right(self) -> float:
        return self.x + self.width / 2


def service_graph(edges: Sequence[ServiceEdge], throughput: float) -> str:
    """The drawing of edges (``analyze.edges``); ``throughput`` is of the load, in requests per second."""
    chains = _chains(edges)
    layers = _layers(edges, chains)
    boxes = _placed(layers, edges)
    height = 2 * MARGIN + GAP_Y * (max(map(len, layers)) - 1) + HEIGHT + 40
    width = max(box.right for box in boxes.values()) + MARGIN
    labels = _Labels(list(boxes.values()))
    ways = [
        part
        for edge, chain in zip(edges, chains, strict=True)
        for part in _way(edge, [boxes[name] for name in chain], labels, throughput)
    ]
    about = f"Service graph: {'; '.join(f'{edge.caller} calls {edge.callee}' for edge in edges)}"
    return drawn([*ways, *(part for box in boxes.values() for part in _box(box))], width, height, about)


Chain = tuple[str, ...]
"""The names that an edge leads through: caller and callee, and between them a bend in each layer that it passes."""


def _chains(edges: Sequence[ServiceEdge]) -> list[Chain]:
    away = _distances([(edge.caller, edge.callee) for edge in edges])
    return [_chain(edge, away[edge.caller], away[edge.callee]) for edge in edges]


def _chain(edge: ServiceEdge, begin: int, end: int) -> Chain:
    bends = [f"{BEND}{edge.caller}{BEND}{edge.callee}{BEND}{layer}" for layer in range(begin + 1, end)]
    return (edge.caller, *bends, edge.callee)


def _distances(pairs: Sequence[tuple[str, str]]) -> dict[str, int]:
    """How many calls each name is away from the load, by the longest way that does not go in circles."""
    onwards = [pair for pair in pairs if pair not in _backwards(pairs)]
    away = {name: 0 for pair in [(EDGE, EDGE), *pairs] for name in pair}
    for _ in onwards:
        for caller, callee in onwards:
            away[callee] = max(away[callee], away[caller] + 1)
    return away


def _backwards(pairs: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The calls that lead back to somebody who led to them, seen from the load."""
    callees: dict[str, list[str]] = {}
    for caller, callee in pairs:
        callees.setdefault(caller, []).append(callee)
    back: set[tuple[str, str]] = set()
    seen: set[str] = set()
    waiting: list[Chain] = [(name,) for name in reversed([EDGE, *callees])]
    while waiting:
        way = waiting.pop()
        below = callees.get(way[-1], [])
        back |= {(way[-1], callee) for callee in below if callee in way}
        if way[-1] not in seen:
            seen.add(way[-1])
            waiting += [(*way, callee) for callee in reversed(below) if callee not in way]
    return back


def _layers(edges: Sequence[ServiceEdge], chains: Sequence[Chain]) -> list[list[str]]:
    """Names and bends by how many calls they are away from the load, each near to those that lead to it."""
    away = _distances([(edge.caller, edge.callee) for edge in edges])
    for chain in chains:
        away |= {name: away[chain[0]] + number for number, name in enumerate(chain) if name not in away}
    layers: list[list[str]] = [[] for _ in range(max(away.values()) + 1)]
    for name, distance in away.items():
        layers[distance].append(name)
    return _untangled([layer for layer in layers if layer], [link for chain in chains for link in pairwise(chain)])


def _untangled(layers: list[list[str]], pairs: Sequence[tuple[str, str]]) -> list[list[str]]:
    """The names of each layer in the order of the middle of those that call them."""
    position: dict[str, float] = {}
    for layer in layers:
        for name in layer:
            callers = [position[one] for one, other in pairs if other == name and one in position]
            position[name] = sum(callers) / len(callers) if callers else 0.0
        layer.sort(key=position.__getitem__)
        position |= {name: index - len(layer) / 2 for index, name in enumerate(layer)}
    return layers


def _placed(layers: Sequence[Sequence[str]], edges: Sequence[ServiceEdge]) -> dict[str, _Box]:
    kinds = {edge.callee: edge.kind.value for edge in edges}
    tallest = max(map(len, layers))
    boxes: dict[str, _Box] = {}
    left = MARGIN
    for layer in layers:
        width = max(_width(name) for name in layer)
        top = MARGIN + HEIGHT / 2 + 12 + GAP_Y * (tallest - len(layer)) / 2
        for index, name in enumerate(layer):
            kind = BEND if name.startswith(BEND) else kinds.get(name, EDGE)
            boxes[name] = _Box(name, kind, left + width / 2, top + GAP_Y * index, 0.0 if kind == BEND else width)
        left += width + GAP_X
    return boxes


def _width(name: str) -> float:
    return 0.0 if name.startswith(BEND) else width_of(shortened(name, LETTERS)) + 32


def _box(box: _Box) -> list[Element]:
    if box.kind == BEND:
        return []
    css = "box service" if box.kind == CalleeKind.SERVICE.value else "box"
    top, round_ = box.y - HEIGHT / 2, 23.0 if box.kind in (EDGE, CalleeKind.QUEUE.value) else 8.0
    shape = element("rect", css, x=box.left, y=top, width=box.width, height=HEIGHT, rx=round_)
    parts = [titled(shape, box.name), label(box.x, box.y + 4, shortened(box.name, LETTERS), "strong")]
    return _cylinder(box, parts) if box.kind == CalleeKind.DATABASE.value else parts


def _cylinder(box: _Box, parts: list[Element]) -> list[Element]:
    """A database: a lid on its box."""
    top, bottom, deep = box.y - HEIGHT / 2, box.y + HEIGHT / 2, 6.0
    outline = (
        f"M{box.left},{top} v{HEIGHT} a{box.width / 2},{deep} 0 0 0 {box.width},0 v{-HEIGHT} "
        f"a{box.width / 2},{deep} 0 0 0 {-box.width},0 a{box.width / 2},{deep} 0 0 0 {box.width},0"
    )
    assert bottom > top
    return [
        titled(element("path", "box", d=outline), box.name),
        label(box.x, box.y + 8, shortened(box.name, LETTERS), "strong"),
    ]


Point = tuple[float, float]
Bend = tuple[Point, Point, Point, Point]
"""A cubic Bezier curve: its beginning, its two handles, its end."""


class _Labels:
    """Finds room for the words of each edge: next to its line, and not on a box or the words of another edge."""

    def __init__(self, boxes: Sequence[_Box]) -> None:
        self._taken = [(box.left, box.y - HEIGHT / 2, box.right, box.y + HEIGHT / 2) for box in boxes]

    def room(self, bends: Sequence[Bend], width: float, height: float) -> Point:
        """A point of a line around which there is room; its middle where there is none."""
        points = [_point(bend, part) for part in ALONG for bend in bends]
        free = next((point for point in points if not self._overlaps(_around(point, width, height))), points[0])
        self._taken.append(_around(free, width, height))
        return free

    def _overlaps(self, area: Area) -> bool:
        left, top, right, bottom = area
        return any(
            left < other[2] and other[0] < right and top < other[3] and other[1] < bottom for other in self._taken
        )


Area = tuple[float, float, float, float]
ALONG = (0.5, 0.6, 0.4, 0.68, 0.32, 0.75, 0.25)
"""Parts of a line in the order in which words are put there."""


def _around(point: Point, width: float, height: float) -> Area:
    x, y = point
    return (x - width / 2, y - 20, x + width / 2, y - 20 + height)


def _point(bend: Bend, part: float) -> Point:
    """The point of a curve at a part of it, from 0 to 1."""
    weights = ((1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3)
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, bend, strict=True)) for axis in (0, 1))
    return x, y


def _way(edge: ServiceEdge, boxes: Sequence[_Box], labels: _Labels, throughput: float) -> list[Element]:
    """An edge: the thicker, the more calls per request; errors are written in red."""
    caller, callee = boxes[0], boxes[-1]
    forward, failing = callee.left > caller.right, edge.errors > 0
    bends = _forward(boxes) if forward else [_back(caller, callee)]
    thick = 1.4 + 1.1 * math.log2(1 + edge.per_request)
    path = element("path", "way failing" if failing else "way", d=_curve(bends), stroke_width=thick)
    often = f"{number(edge.per_request)} per request, {number(edge.per_request * throughput)}/s"
    x, y = labels.room(bends, max(width_of(often), width_of(_times(edge), 11)), 54 if failing else 40)
    texts = [label(x, y - 8, often, "halo strong"), label(x, y + 16, _times(edge), "halo muted")]
    if failing:
        texts.append(label(x, y + 30, f"{number(100 * edge.errors)} % failed", "halo bad"))
    return [titled(path, f"{often} · {_times(edge)}"), _head(callee, forward, failing), *texts]


def _curve(bends: Sequence[Bend]) -> str:
    (x, y), *_ = bends[0]
    parts = [" ".join(f"{a:.0f},{b:.0f}" for a, b in points) for _, *points in bends]
    return f"M{x:.0f},{y:.0f} " + " ".join(f"C{part}" for part in parts)


def _forward(boxes: Sequence[_Box]) -> list[Bend]:
    """From the right of the first box to the left of the last one, through the places between them."""
    first, *between, last = boxes
    points = [(first.right, first.y), *((box.x, box.y) for box in between), (last.left - HEAD, last.y)]
    return [
        ((x, y), ((x + next_x) / 2, y), ((x + next_x) / 2, next_y), (next_x, next_y))
        for (x, y), (next_x, next_y) in pairwise(points)
    ]


def _back(caller: _Box, callee: _Box) -> Bend:
    """From below a box to below one that is not to its right: a call back, or of itself."""
    begin, end = caller.y + HEIGHT / 2, callee.y + HEIGHT / 2 + HEAD
    x, end_x, deep = caller.x + caller.width / 4, callee.x, HEIGHT
    return ((x, begin), (x, begin + deep), (end_x, end + deep), (end_x, end))


def _head(callee: _Box, forward: bool, failing: bool) -> Element:
    x, y = (callee.left, callee.y) if forward else (callee.x, callee.y + HEIGHT / 2)
    points = (
        [(x, y), (x - HEAD, y - 5), (x - HEAD, y + 5)] if forward else [(x, y), (x - 5, y + HEAD), (x + 5, y + HEAD)]
    )
    text = " ".join(f"{a:.0f},{b:.0f}" for a, b in points)
    return element("polygon", "head-failing" if failing else "head", points=text)


def _times(edge: ServiceEdge) -> str:
    return f"p50 {shown(edge.p50, 'time')}, p95 {shown(edge.p95, 'time')}"
