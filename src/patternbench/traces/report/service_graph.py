"""The service graph as a drawing: who calls whom from left to right, how often, how long it takes, what fails.

Boxes are in layers. The words of an edge are in a gap between two layers, which is as wide as its widest words need,
and those of one gap are below each other: so no words are over others, or over a box, whatever the graph.
An edge's words are where its line is farthest from those of others.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy import optimize

from patternbench.report.labels import shown
from patternbench.terms.quantities import number
from patternbench.traces.analyze.edges import EDGE, CalleeKind, ServiceEdge
from patternbench.traces.report.drawing import (
    Element,
    drawn,
    element,
    label,
    shortened,
    strong_width_of,
    titled,
    width_of,
)
from patternbench.traces.report.graph_layers import BEND, Chain, chains_of, layers_of

GAP_X, WIDE_GAP_X, GAP_Y, HEIGHT, MARGIN = 210.0, 300.0, 116.0, 46.0, 26.0
"""Gaps between layers, of few edges and of more, between rows; the height of boxes; the margin of the diagram."""
FEW = 2
ROOM = 14.0
"""Least room between words and a box to their left or right."""
LETTERS = 26
HEAD = 8.0
BACK_Y = 14.0
"""How far below the middle of a box a call back ends, so that it has its own line."""
LOOP_Y = 12.0
"""How far below a box the words of its calls of itself begin."""
LINES_Y = (-3.0, 11.0, 25.0)
"""Where the lines of words are, seen from the point of the edge's line that they are at."""
ABOVE_Y, BELOW_Y, SPACE = 17.0, 6.0, 6.0
"""How far words reach above that point, and below their last line; the space around them in their frame, and between
two of these."""
STEPS = 40
"""Into how many steps a curve is cut where a point of it is looked for."""
APART_Y = 44.0
"""Lines that are so far apart can be distinguished, so a greater distance counts no more."""

Point = tuple[float, float]
Bezier = tuple[Point, Point, Point, Point]
"""A cubic Bezier curve: its beginning, its two handles, its end."""


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
    def bottom(self) -> float:
        return self.y + HEIGHT / 2

    def end(self, side: int) -> float:
        """Its right end (1) or its left one (-1)."""
        return self.x + side * self.width / 2


@dataclass(frozen=True)
class _DrawnEdge:
    """An edge with its words; ``gap`` is the number of the layer before them, None for a call of itself."""

    edge: ServiceEdge
    chain: Chain
    gap: int | None
    words: Sequence[tuple[str, str]]

    @property
    def width(self) -> float:
        texts = (strong_width_of(text) if css == "strong" else width_of(text, 11) for text, css in self.words)
        return max(texts) + 2 * SPACE

    @property
    def height(self) -> float:
        return ABOVE_Y + LINES_Y[len(self.words) - 1] + BELOW_Y


def service_graph(edges: Sequence[ServiceEdge], throughput: float) -> str:
    """Return the drawing of edges (``analyze.edges``); ``throughput`` is of the load, in requests per second."""
    chains = chains_of(edges)
    layers = layers_of(edges, chains)
    layer = {name: index for index, names in enumerate(layers) for name in names}
    gaps = _gaps(chains, layer)
    drawn_edges = [
        _DrawnEdge(edge, chain, gaps.get(chain), _words(edge, throughput, layer[edge.callee] < layer[edge.caller]))
        for edge, chain in zip(edges, chains, strict=True)
    ]
    columns = _columns(layers, drawn_edges)
    boxes = _placed(layers, columns, edges)
    curves = {one.chain: _curves([boxes[name] for name in one.chain]) for one in drawn_edges}
    points = dict(_points(drawn_edges, columns, boxes, curves))
    lowest = max(
        [*(box.bottom for box in boxes.values()), *(points[one.chain][1] - ABOVE_Y + one.height for one in drawn_edges)]
    )
    parts = [
        *(part for one in drawn_edges for part in _line(one, boxes, curves[one.chain])),
        *(part for box in boxes.values() for part in _box(box)),
        *(part for one in drawn_edges for part in _labels(one, points[one.chain])),
    ]
    about = f"Service graph: {'; '.join(f'{edge.caller} calls {edge.callee}' for edge in edges)}"
    return drawn(parts, max(right for _, right in columns) + MARGIN, lowest + MARGIN, about)


# --- which gap the words of an edge are in, and where boxes are


def _words(edge: ServiceEdge, throughput: float, back: bool) -> list[tuple[str, str]]:
    """Return what is said of an edge, line by line, each with its style: errors in red, calls back with an arrow."""
    often = f"{'← ' if back else ''}{number(edge.per_request)} per request, {number(edge.per_request * throughput)}/s"
    failed = [(f"{number(100 * edge.errors)} % failed", "bad")] if edge.errors > 0 else []
    return [(often, "strong"), (_times(edge), "muted"), *failed]


def _times(edge: ServiceEdge) -> str:
    return f"p50 {shown(edge.p50, 'time')}, p95 {shown(edge.p95, 'time')}"


def _gaps(chains: Sequence[Chain], layer: Mapping[str, int]) -> dict[Chain, int]:
    """For each chain the gap of its words: of those that it passes, the one with the fewest others."""
    taken: Counter[int] = Counter()
    gaps: dict[Chain, int] = {}
    for chain in sorted(chains, key=len):
        begin, end = sorted((layer[chain[0]], layer[chain[-1]]))
        if begin < end:
            gaps[chain] = min(range(begin, end), key=taken.__getitem__)
            taken[gaps[chain]] += 1
    return gaps


def _columns(layers: Sequence[Sequence[str]], drawn_edges: Sequence[_DrawnEdge]) -> list[tuple[float, float]]:
    """Left and right of each layer, as wide and as far apart as names and words need."""
    columns: list[tuple[float, float]] = []
    left = MARGIN
    for index, layer in enumerate(layers):
        own = [one.width for one in drawn_edges if one.gap is None and one.edge.caller in layer]
        between = [one.width + 2 * ROOM for one in drawn_edges if one.gap == index]
        right = left + max(*map(_width, layer), *own, 0.0)
        columns.append((left, right))
        left = right + max([WIDE_GAP_X if len(between) > FEW else GAP_X, *between])
    return columns


def _width(name: str) -> float:
    return 0.0 if name.startswith(BEND) else strong_width_of(shortened(name, LETTERS)) + 28


def _placed(
    layers: Sequence[Sequence[str]], columns: Sequence[tuple[float, float]], edges: Sequence[ServiceEdge]
) -> dict[str, _Box]:
    kinds = {edge.callee: edge.kind.value for edge in edges}
    tallest = max(map(len, layers))
    boxes: dict[str, _Box] = {}
    for layer, (left, right) in zip(layers, columns, strict=True):
        top = MARGIN + HEIGHT / 2 + GAP_Y * (tallest - len(layer)) / 2
        for index, name in enumerate(layer):
            kind = BEND if name.startswith(BEND) else kinds.get(name, EDGE)
            boxes[name] = _Box(name, kind, (left + right) / 2, top + GAP_Y * index, _width(name))
    return boxes


def _box(box: _Box) -> list[Element]:
    if box.kind == BEND:
        return []
    css = "box service" if box.kind == CalleeKind.SERVICE.value else "box"
    top, round_ = box.y - HEIGHT / 2, 23.0 if box.kind in (EDGE, CalleeKind.QUEUE.value) else 8.0
    shape = element("rect", css, x=box.left, y=top, width=box.width, height=HEIGHT, rx=round_)
    parts = [titled(shape, box.name), label(box.x, box.y + 4, shortened(box.name, LETTERS), "strong")]
    return _cylinder(box, parts) if box.kind == CalleeKind.DATABASE.value else parts


def _cylinder(box: _Box, parts: list[Element]) -> list[Element]:
    """Return a database: a lid on its box."""
    top, deep = box.y - HEIGHT / 2, 6.0
    outline = (
        f"M{box.left},{top} v{HEIGHT} a{box.width / 2},{deep} 0 0 0 {box.width},0 v{-HEIGHT} "
        f"a{box.width / 2},{deep} 0 0 0 {-box.width},0 a{box.width / 2},{deep} 0 0 0 {box.width},0"
    )
    return [
        titled(element("path", "box", d=outline), box.name),
        label(box.x, box.y + 8, shortened(box.name, LETTERS), "strong"),
    ]


# --- lines


def _line(one: _DrawnEdge, boxes: Mapping[str, _Box], curves: Sequence[Bezier]) -> list[Element]:
    """Return the line of an edge: the thicker, the more calls per request."""
    failing = one.edge.errors > 0
    thick = 1.4 + 1.1 * math.log2(1 + one.edge.per_request)
    path = element("path", "way failing" if failing else "way", d=_outline(curves), stroke_width=thick)
    about = f"{one.edge.caller} calls {one.edge.callee}: {' · '.join(text for text, _ in one.words)}"
    return [titled(path, about), _head(curves[-1][-1], _side(boxes[one.chain[0]], boxes[one.chain[-1]]), failing)]


def _side(caller: _Box, callee: _Box) -> int:
    """Whether a call leads to the right (1), back to the left (-1), or to where it begins (0)."""
    return int(np.sign(callee.x - caller.x))


def _outline(curves: Sequence[Bezier]) -> str:
    (x, y), *_ = curves[0]
    parts = [" ".join(f"{a:.0f},{b:.0f}" for a, b in points) for _, *points in curves]
    return f"M{x:.0f},{y:.0f} " + " ".join(f"C{part}" for part in parts)


def _curves(boxes: Sequence[_Box]) -> list[Bezier]:
    """From one side of the first box to the other side of the last one, through the bends between them."""
    first, *between, last = boxes
    side = _side(first, last)
    if side == 0:
        return [_loop(first)]
    down = BACK_Y if side < 0 else 0.0
    begin, end = (first.end(side), first.y + down), (last.end(-side) - side * HEAD, last.y + down)
    return [
        ((x, y), ((x + next_x) / 2, y), ((x + next_x) / 2, next_y), (next_x, next_y))
        for (x, y), (next_x, next_y) in pairwise([begin, *((box.x, box.y) for box in between), end])
    ]


def _loop(box: _Box) -> Bezier:
    """From below a box to below it: a call of itself."""
    begin, end, deep = box.bottom, box.bottom + HEAD, HEIGHT
    x = box.x + box.width / 4
    return ((x, begin), (x, begin + deep), (box.x, end + deep), (box.x, end))


def _head(point: Point, side: int, failing: bool) -> Element:
    """Return the head of an arrow whose line ends at a point."""
    x, y = point
    wings = [(x, y - 5), (x, y + 5)] if side else [(x - 5, y), (x + 5, y)]
    tip = (x + side * HEAD, y) if side else (x, y - HEAD)
    text = " ".join(f"{a:.0f},{b:.0f}" for a, b in [tip, *wings])
    return element("polygon", "head-failing" if failing else "head", points=text)


# --- words


def _labels(one: _DrawnEdge, point: Point) -> list[Element]:
    """Return the words of an edge in a frame of their own, which covers the lines below it."""
    x, y = point
    left, top = x - one.width / 2, y - ABOVE_Y
    frame = element("rect", "words", x=left, y=top, width=one.width, height=one.height, rx=4)
    return [frame, *(label(x, y + down, text, css) for down, (text, css) in zip(LINES_Y, one.words, strict=False))]


def _points(
    drawn_edges: Sequence[_DrawnEdge],
    columns: Sequence[tuple[float, float]],
    boxes: Mapping[str, _Box],
    curves: Mapping[Chain, Sequence[Bezier]],
) -> Iterator[tuple[Chain, Point]]:
    """Where the words of each edge are."""
    for gap, ((_, left), (right, _)) in enumerate(pairwise(columns)):
        yield from _in_gap([one for one in drawn_edges if one.gap == gap], left + ROOM, right - ROOM, curves)
    for one in drawn_edges:
        if one.gap is None:
            caller = boxes[one.edge.caller]
            yield one.chain, (caller.x, caller.bottom + LOOP_Y + ABOVE_Y)


def _in_gap(
    drawn_edges: Sequence[_DrawnEdge], left: float, right: float, curves: Mapping[Chain, Sequence[Bezier]]
) -> Iterator[tuple[Chain, Point]]:
    """Where the words in one gap are: below each other, each as near to its line as the others let it."""
    lines = {one.chain: _between(curves[one.chain], left + one.width / 2, right - one.width / 2) for one in drawn_edges}
    expected = {chain: _most_apart(chain, lines, (left + right) / 2) for chain in lines}
    ordered = sorted(drawn_edges, key=lambda one: expected[one.chain][1])
    tops = stacked([expected[one.chain][1] - ABOVE_Y for one in ordered], [one.height + SPACE for one in ordered])
    for one, top in zip(ordered, tops, strict=True):
        y = top + ABOVE_Y
        yield one.chain, (_x(lines[one.chain], y, expected[one.chain][0]), y)


def _between(curves: Sequence[Bezier], least: float, most: float) -> list[Point]:
    """Points of curves between two sides, from left to right; where none is, the middle at the height nearby."""
    points = sorted(_point(curve, step / STEPS) for curve in curves for step in range(STEPS + 1))
    middle = (least + most) / 2
    inside = [point for point in points if least <= point[0] <= most]
    return inside or [(middle, min(points, key=lambda point: abs(point[0] - middle))[1])]


def _most_apart(chain: Chain, lines: Mapping[Chain, Sequence[Point]], middle: float) -> Point:
    """Return the point of a line at which other lines are farthest; of several, the one nearest to the middle."""
    others = [tuple(zip(*line, strict=True)) for other, line in lines.items() if other != chain]

    def apart(point: Point) -> tuple[float, float]:
        away = sum(min(abs(float(np.interp(point[0], xs, ys)) - point[1]), APART_Y) for xs, ys in others)
        return (round(away), -abs(point[0] - middle))

    return max(lines[chain], key=apart)


def stacked(tops: Sequence[float], heights: Sequence[float]) -> list[float]:
    """Tops of areas below each other, of least squared distance from those wanted (ascending); none above the margin.

    Without its height and those above it, each top is one of an ascending row: an isotonic regression.
    """
    if not tops:
        return []
    above = np.concatenate([[0.0], np.cumsum(heights)[:-1]])
    free = np.maximum(optimize.isotonic_regression(np.asarray(tops) - above).x, MARGIN)
    return [float(top) for top in free + above]


def _point(curve: Bezier, part: float) -> Point:
    """Return the point of a curve at a part of it, from 0 to 1."""
    weights = ((1 - part) ** 3, 3 * part * (1 - part) ** 2, 3 * part**2 * (1 - part), part**3)
    x, y = (sum(weight * point[axis] for weight, point in zip(weights, curve, strict=True)) for axis in (0, 1))
    return x, y


def _x(line: Sequence[Point], y: float, expected: float) -> float:
    """Where a line is nearest to a height; of several such points, the one nearest to that wanted."""
    return min(line, key=lambda point: (round(abs(point[1] - y)), abs(point[0] - expected)))[0]
