"""The sequence diagram of an operation as a drawing: who asks whom, in order, repetitions in frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from patternbench.report.labels import shown
from patternbench.traces.analyze.edges import EDGE, CalleeKind
from patternbench.traces.analyze.sequence import Loop, Part, SequenceStep, flat
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

ROW, TOP, MARGIN = 34.0, 74.0, 24.0
LANE = 128.0
LETTERS, NAME_LETTERS = 46, 22
MOST_ROWS = 40


@dataclass
class _Page:
    """What has been drawn so far, and how far down."""

    lanes: dict[str, float]
    kinds: dict[str, CalleeKind]
    y: float = TOP
    rows: int = 0
    left_out: int = 0
    lines: list[Element] = field(default_factory=list)
    marks: list[Element] = field(default_factory=list)


def sequence_diagram(operation: str, service: str, seconds: float, parts: Sequence[Part]) -> str:
    """Draw the steps of an operation (``analyze.sequence``), which a service takes and ends in a time."""
    root = SequenceStep(EDGE, service, CalleeKind.SERVICE, operation, seconds, True, False, tuple(parts))
    page = _Page(_lanes([root]), {step.callee: step.kind for step in flat([root])})
    _draw(page, (root,))
    bottom = page.y + 12
    if page.left_out:
        page.marks.append(label(MARGIN, bottom, f"{page.left_out} further steps are left out", "muted", "start"))
        bottom += ROW / 2
    width = _right(page, root) + MARGIN
    heads = [part for name, x in page.lanes.items() for part in _head(name, page.kinds.get(name), x, bottom)]
    return drawn([*heads, *page.lines, *page.marks], width, bottom + MARGIN, f"Sequence diagram of {operation}")


def _lanes(steps: Sequence[SequenceStep]) -> dict[str, float]:
    """Return the x of each participant, in the order of first calls, as far apart as their texts need."""
    listed = list(flat(steps))
    names = list(dict.fromkeys(name for step in listed for name in (step.caller, step.callee)))
    lanes = {names[0]: MARGIN + max(LANE, _head_width(names[0])) / 2}
    for name, following in pairwise(names):
        between = [step for step in listed if {step.caller, step.callee} == {name, following}]
        texts = (width_of(_text(step), 11) + 28 for step in between)
        heads = (_head_width(name) + _head_width(following)) / 2 + 14
        lanes[following] = lanes[name] + max(LANE, heads, *texts)
    return lanes


def _head_width(name: str) -> float:
    return strong_width_of(shortened(name, NAME_LETTERS)) + 20


def _right(page: _Page, root: SequenceStep) -> float:
    """Where the last lane, its head and all texts end."""
    lanes = (x + max(LANE, _head_width(name)) / 2 for name, x in page.lanes.items())
    return max(*lanes, *(_end(page, step) for step in flat([root])))


def _end(page: _Page, step: SequenceStep) -> float:
    """Where the text of a step ends."""
    return min(page.lanes[step.caller], page.lanes[step.callee]) + 8 + width_of(_text(step), 11)


def _head(name: str, kind: CalleeKind | None, x: float, bottom: float) -> list[Element]:
    width = _head_width(name)
    css = "box service" if kind is CalleeKind.SERVICE else "box"
    box = element("rect", css, x=x - width / 2, y=14, width=width, height=30, rx=8)
    line = element("line", "thin", x1=x, y1=44, x2=x, y2=bottom)
    return [line, titled(box, name), label(x, 33.5, shortened(name, NAME_LETTERS), "strong")]


def _draw(page: _Page, parts: Sequence[Part]) -> None:
    for part in parts:
        if isinstance(part, Loop):
            _draw_loop(page, part)
        else:
            _draw_step(page, part)


def _draw_loop(page: _Page, loop: Loop) -> None:
    """Draw a frame around a block, with how often it is repeated."""
    if page.rows >= MOST_ROWS:
        page.left_out += loop.times * len(loop.block)
        return
    steps = list(flat(loop.block))
    lanes = [page.lanes[name] for step in steps for name in (step.caller, step.callee)]
    left, top = min(lanes) - 54, page.y - 14
    right = max(max(lanes) + 18, *(_end(page, step) + 10 for step in steps))
    page.y += 14
    _draw(page, loop.block)
    height = page.y - top - 10
    page.lines.append(element("rect", "frame", x=left, y=top, width=right - left, height=height, rx=6))
    text = f"× {loop.times}"
    page.marks.append(element("rect", "tag", x=left, y=top, width=strong_width_of(text) + 14, height=20, rx=5))
    page.marks.append(label(left + 7, top + 14.5, text, "strong", "start"))
    page.y += 10


def _draw_step(page: _Page, step: SequenceStep) -> None:
    if page.rows >= MOST_ROWS:
        page.left_out += 1 + len(list(flat(step.inner)))
        return
    page.rows += 1
    caller, callee = page.lanes[step.caller], page.lanes[step.callee]
    begun = page.y
    page.marks += _arrow(caller, callee, page.y, step)
    page.y += ROW
    _draw(page, step.inner)
    if step.waits:
        busy = element("rect", "busy", x=callee - 4, y=begun, width=8, height=page.y - begun - ROW / 2, rx=2)
        page.lines.append(titled(busy, f"{step.callee}: {shown(step.seconds, 'time')}"))


def _arrow(caller: float, callee: float, y: float, step: SequenceStep) -> list[Element]:
    forward = callee >= caller
    tip = callee - 5 if forward else callee + 5
    back = tip - 8 if forward else tip + 8
    css = "way failing" if step.failed else "way"
    line = element("line", css, x1=caller, y1=y, x2=tip, y2=y, stroke_width=1.6)
    if not step.waits:
        line.set("stroke-dasharray", "5 4")
    points = f"{tip:.0f},{y:.0f} {back:.0f},{y - 4:.0f} {back:.0f},{y + 4:.0f}"
    head = element("polygon", "head-failing" if step.failed else "head", points=points)
    start = min(caller, callee) + 8
    text = label(start, y - 5, _text(step), "halo bad" if step.failed else "halo muted", "start")
    return [line, head, titled(text, f"{step.what} · {shown(step.seconds, 'time')}")]


def _text(step: SequenceStep) -> str:
    return f"{shortened(step.what, LETTERS)} · {shown(step.seconds, 'time')}"
