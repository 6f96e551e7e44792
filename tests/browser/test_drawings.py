"""Drawings of calls in a real browser: texts, as wide as its fonts make them, stay in their frames and boxes."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser

from patternbench.traces.analyze.edges import EDGE, CalleeKind, ServiceEdge
from patternbench.traces.analyze.sequence import SequenceStep
from patternbench.traces.report.sequence_diagram import sequence_diagram
from patternbench.traces.report.service_graph import service_graph

pytestmark = pytest.mark.browser

NAMES = ("gateway", "mariadb cinema_cineworld")
STICKING_OUT = """() => [...document.querySelectorAll("rect.words, rect.box")].flatMap((frame) => {
  const texts = [], box = frame.getBBox();
  for (let next = frame.nextElementSibling; next?.tagName === "text"; next = next.nextElementSibling) texts.push(next);
  return texts.filter((text) => {
    const own = text.getBBox();
    return own.x < box.x || own.x + own.width > box.x + box.width;
  }).map((text) => text.textContent);
})"""


def graph() -> str:
    edges = [ServiceEdge(EDGE, name, CalleeKind.SERVICE, 10, 1234.5, 0.123, 0.000509, 0.0409) for name in NAMES]
    edges += [ServiceEdge(NAMES[0], name, CalleeKind.SERVICE, 10, 0.347, 0, 0.00876, 0.153) for name in NAMES[1:2]]
    return service_graph([*edges, ServiceEdge(NAMES[1], NAMES[0], CalleeKind.SERVICE, 10, 3, 0.5, 0.1, 0.2)], 8.77)


def sequence() -> str:
    steps = [SequenceStep(NAMES[0], name, CalleeKind.SERVICE, "GET /", 0.001, True, False) for name in NAMES[1:2]]
    return sequence_diagram("GET /", NAMES[0], 0.1, steps)


@pytest.mark.parametrize("drawing", [graph(), sequence()], ids=["graph", "sequence"])
def test_texts_stay_in_their_frames_and_boxes(browser: Browser, drawing: str) -> None:
    page = browser.new_page()
    page.set_content(drawing)
    assert page.locator("rect.words, rect.box").count() >= 2
    assert page.evaluate(STICKING_OUT) == []
    page.close()
