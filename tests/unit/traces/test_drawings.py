"""The drawings of calls: whole, whatever components are called, and nothing of them outside the diagram."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.support.spans import keep, span, table

from patternbench.observe.section import Drawing, Section
from patternbench.report import html, svg
from patternbench.traces.analyze.edges import EDGE, CalleeKind, ServiceEdge
from patternbench.traces.analyze.sequence import Loop, Part, SequenceStep, steps, typical
from patternbench.traces.analyze.totals import TIMES, OperationTotals, RequestTotals
from patternbench.traces.analyze.trees import forest
from patternbench.traces.report.section import (
    MeasuredRound,
    TracedScenario,
    _where_time_goes,
    section,
    traced_scenario,
)
from patternbench.traces.report.sequence_diagram import MARGIN as FOOT
from patternbench.traces.report.sequence_diagram import MOST_ROWS, ROW, TOP, sequence_diagram
from patternbench.traces.report.service_graph import MARGIN, service_graph, stacked

Area = tuple[float, float, float, float]
"""Left, top, right, bottom."""

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert("x")</script>&\x00\n' + "very long " * 30
SQL = {"database": "mariadb", "schema": "core", "statement": "SELECT a FROM line WHERE id = ?"}


def edge(caller: str, callee: str, per_request: float = 1, errors: float = 0) -> ServiceEdge:
    return ServiceEdge(caller, callee, CalleeKind.SERVICE, 10, per_request, errors, 0.001, 0.002)


def texts(drawing: str) -> list[str]:
    return [node.text or "" for node in ElementTree.fromstring(drawing).iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize(
    "edges",
    [
        [edge(EDGE, "a")],
        [edge(EDGE, "a"), edge("a", "a")],
        [edge(EDGE, "a"), edge("a", "b"), edge("b", "a")],
        [edge(EDGE, "a"), edge("a", "b"), edge("b", "c"), edge("a", "c"), edge("c", "b"), edge(EDGE, "c")],
        [edge(EDGE, HOSTILE), edge(HOSTILE, "b", errors=0.5)],
        [edge(EDGE, "a"), *(edge("a", f"service-{number}") for number in range(20))],
        [edge("x", "y")],
    ],
)
def test_a_service_graph_is_drawn_whole_with_circles_and_whatever_names(edges: list[ServiceEdge]) -> None:
    drawing = service_graph(edges, 10.0)
    root = ElementTree.fromstring(drawing)
    assert "<script" not in drawing
    width, height = float(root.get("width", "0")), float(root.get("height", "0"))
    for box in root.iter("{http://www.w3.org/2000/svg}rect"):
        assert float(box.get("x", "0")) >= 0 and float(box.get("x", "0")) + float(box.get("width", "0")) <= width
        assert float(box.get("y", "0")) >= 0 and float(box.get("y", "0")) + float(box.get("height", "0")) <= height
    names = {name for one in edges for name in (one.caller, one.callee)}
    assert len(names & set(texts(drawing))) == len({name for name in names if len(name) < 20})


def areas(drawing: str) -> list[tuple[str, Area]]:
    """What must not be over each other: frames of words, boxes and tags, each with what it is."""
    root = ElementTree.fromstring(drawing)
    rects = [node for node in root.iter("{http://www.w3.org/2000/svg}rect") if node.get("class") != "back"]
    return [(node.get("class", ""), _area(node)) for node in rects]


def _area(node: ElementTree.Element) -> Area:
    left, top, width, height = (float(node.get(name, "0")) for name in ("x", "y", "width", "height"))
    return left, top, left + width, top + height


def overlaps(one: Area, other: Area) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


CINEMA = [
    edge(EDGE, "gateway"),
    *(edge("gateway", name) for name in ("aggregator", "cineworld", "dundrum", "ucd")),
    edge("aggregator", "gateway", per_request=3),
    *(edge(name, f"mariadb {name}", errors=0.2) for name in ("cineworld", "dundrum", "ucd")),
]
NAMES = ("a", "b", "c", "d", "e", "a service with a long name")
GRAPHS = st.lists(
    st.builds(
        edge,
        st.sampled_from((EDGE, *NAMES)),
        st.sampled_from(NAMES),
        st.floats(0.001, 1e6),
        st.sampled_from((0.0, 0.5)),
    ),
    min_size=1,
    max_size=20,
    unique_by=lambda one: (one.caller, one.callee),
)


@given(edges=GRAPHS)
@example(edges=CINEMA)
@settings(max_examples=60, deadline=None)
def test_no_words_of_a_service_graph_are_over_others_or_over_a_box(edges: list[ServiceEdge]) -> None:
    listed = areas(service_graph(edges, 10.0))
    assert sum(kind == "words" for kind, _ in listed) == len(edges)
    for (kind, one), (other_kind, other) in combinations(listed, 2):
        assert not overlaps(one, other), (kind, one, other_kind, other)


def test_the_words_of_an_edge_that_is_alone_between_two_layers_are_on_its_line() -> None:
    drawing = service_graph([edge(EDGE, "a")], 10.0)
    (words,) = [area for kind, area in areas(drawing) if kind == "words"]
    load = next(area for kind, area in areas(drawing) if kind == "box")
    assert (words[1] + words[3]) / 2 == pytest.approx((load[1] + load[3]) / 2)


def test_a_call_back_is_reported_from_the_call_that_led_to_it() -> None:
    message = texts(service_graph([edge(EDGE, "a"), edge("a", "b"), edge("b", "a", per_request=3)], 10.0))
    assert {"1 per request, 10/s", "← 3 per request, 30/s"} <= set(message)


def test_tops_that_are_wanted_too_near_to_each_other_give_way_alike_and_stay_below_the_margin() -> None:
    assert stacked([100.0, 100.0, 300.0], [40.0, 40.0, 40.0]) == [80.0, 120.0, 300.0]
    assert stacked([0.0], [40.0]) == [MARGIN]


def test_a_graph_says_how_often_how_long_and_how_much_fails() -> None:
    message = texts(service_graph([edge(EDGE, "a"), edge("a", "b", per_request=6, errors=0.03)], 20.0))
    assert {"6 per request, 120/s", "p50 1 ms, p95 2 ms", "3 % failed"} <= set(message)
    assert sum("failed" in text for text in message) == 1


def order(lines: int) -> pd.DataFrame:
    queries = [
        span(
            f"q{line}", "client", "shop", (2 * line, 2 * line + 1), "root", **{**SQL, "statement": f"SELECT {line % 7}"}
        )
        for line in range(lines)
    ]
    return table(span("root", "server", "shop", (0, 2 * lines + 1), method="GET", route="/orders/{id}"), *queries)


def test_heads_and_tags_of_a_sequence_diagram_are_not_over_each_other_or_outside_it() -> None:
    names = ["a", "a service whose name is long", "aggregator", "mariadb of another service", "b"]
    step: tuple[Part, ...] = ()
    for caller, callee in reversed(list(pairwise(names))):
        inner = SequenceStep(caller, callee, CalleeKind.SERVICE, "GET /", 0.001, True, False, step)
        step = (Loop(12, (inner,)),)
    drawing = sequence_diagram("GET /", "a", 0.1, step)
    width = float(ElementTree.fromstring(drawing).get("width", "0"))
    listed = [area for kind, area in areas(drawing) if kind in ("box", "box service", "tag")]
    assert len(listed) == 1 + len(names) + 4
    for one, other in combinations(listed, 2):
        assert not overlaps(one, other), (one, other)
    assert all(left >= 0 and right <= width for left, _, right, _ in listed)


def test_a_sequence_diagram_names_its_steps_and_folds_what_is_repeated() -> None:
    request = typical(forest(table(*order(1).to_dict("records"))).requests)
    message = texts(sequence_diagram("GET /orders/{id}", "shop", 0.003, steps(request)))
    assert {"load", "shop", "mariadb core", "GET /orders/{id} · 3 ms", "SELECT 0 · 1 ms"} <= set(message)


def test_a_sequence_of_too_many_steps_says_how_many_it_leaves_out() -> None:
    spans = order(60)
    spans["statement"] = [f"SELECT {number}" for number in range(len(spans))]
    message = texts(sequence_diagram("GET /orders/{id}", "shop", 0.1, steps(forest(spans).requests[0])))
    assert f"{60 - (MOST_ROWS - 1)} further steps are left out" in message


def scenario(folder: Path, name: str, lines: int) -> TracedScenario:
    spans = order(lines)
    spans["statement"] = spans["statement"].where(spans["statement"] == "", SQL["statement"])
    return traced_scenario(name, [MeasuredRound(keep(folder / name, spans), 10.0)])


def test_the_section_names_repetitions_and_draws_scenarios_that_are_alike_once(tmp_path: Path) -> None:
    made = section([scenario(tmp_path, *one) for one in (("lines 9", 9), ("lines 9 again", 9), ("lines 2", 2))])
    assert made.words[0] == (
        "N+1: for one GET /orders/{id}, shop asks mariadb core the same 9 times, one after another: "
        "SELECT a FROM line WHERE id = ?. That is 47.4 % of its time; a single call for all of them might do."
    )
    assert "In-memory calls are unknown, because not every service reports them." in made.words
    graphs = [drawing.title for drawing in made.drawings if drawing.title.startswith("Who calls whom")]
    assert graphs == ["Who calls whom: lines 9, and similarly in 1 more scenarios", "Who calls whom: lines 2"]
    (counted, repeated, shaped) = [one.frame for one in made.tables]
    assert counted["calls: databases"].tolist() == ["9", "9", "2"]
    assert repeated["times per request"].tolist() == ["9"]
    assert shaped["widest fan"].tolist() == ["9 by shop", "2 by shop"]
    assert made.in_short == made.words[0]
    assert [figure.title for figure in made.figures] == ["Time by type of call", "The critical path"]


def test_without_repetitions_the_first_screen_says_where_the_time_of_the_most_frequent_request_goes(
    tmp_path: Path,
) -> None:
    made = section([scenario(tmp_path, "one line", 1)])
    assert made.in_short == "GET /orders/{id} takes 3 ms on average: 66.7 % in memory, 33.3 % databases."
    assert made.beside is not None
    assert "GET /orders/{id}: 3 ms, in memory 66.7 %; GET /orders/{id}: 3 ms, databases 33.3 %;" in made.beside.svg


@pytest.mark.slow
def test_drawings_are_in_the_page_and_next_to_it_as_files(tmp_path: Path) -> None:
    from tests.support.synthetic_run import synthetic_run  # noqa: PLC0415

    drawing = Drawing("Who calls whom", service_graph([edge(EDGE, HOSTILE)], 1.0), "how to read it")
    report = synthetic_run(rounds=2, users=[50], fault=[0])
    object.__setattr__(report, "sections", (Section("calls", "Calls", drawings=[drawing]),))
    page = html.render(report)
    assert drawing.svg in page
    assert "how to read it" in page
    files = svg.write_figures(report, tmp_path)
    (written,) = [file for file in files if file.name == "calls-drawing-1.svg"]
    assert re.match("<svg ", written.read_text())


def test_a_line_is_the_thicker_the_more_calls_a_request_makes_and_never_thinner_than_one_of_none() -> None:
    edges = [edge(EDGE, "a", 0.001), edge("a", "b", 1.0), edge("b", "c", 3.0), edge("c", "d", 63.0)]
    root = ElementTree.fromstring(service_graph(edges, 10.0))
    lines = [node for node in root.iter("{http://www.w3.org/2000/svg}path") if "way" in node.get("class", "")]
    widths = sorted(float(node.get("stroke-width", "nan")) for node in lines)
    assert widths == pytest.approx([1.4, 1.4 + 1.1, 1.4 + 2.2, 1.4 + 6.6], abs=0.01)


def test_a_line_says_that_calls_fail_however_few_do() -> None:
    root = ElementTree.fromstring(service_graph([edge(EDGE, "a"), edge("a", "b", errors=0.0001)], 10.0))
    classes = [node.get("class") for node in root.iter("{http://www.w3.org/2000/svg}path")]
    assert sorted(one for one in classes if one and one.startswith("way")) == ["way", "way failing"]


@pytest.mark.parametrize(
    ("requests", "seconds", "words"),
    [
        ({}, 0.0, ""),
        ({"GET /": 0}, 0.0, ""),
        ({"GET /": 2}, 0.0, ""),
        ({"GET /": 2}, 0.01, "GET / takes 5 ms on average: 100 % in memory."),
        ({"GET /": 2, "POST /": 3}, 0.03, "POST / takes 10 ms on average: 100 % in memory."),
    ],
)
def test_where_the_time_goes_is_told_only_of_an_operation_whose_time_is_known(
    requests: dict[str, int], seconds: float, words: str
) -> None:
    timed = RequestTotals()
    for name, count in requests.items():
        times = dict.fromkeys(TIMES, 0.0) | {"seconds": seconds, "in_memory_time": seconds}
        timed.operations[name] = OperationTotals(count, times=times)
    assert _where_time_goes(timed) == words


@pytest.mark.parametrize("number", [1, 3, MOST_ROWS, MOST_ROWS + 1])
def test_a_sequence_diagram_ends_below_all_that_is_drawn_by_its_margin(number: int) -> None:
    parts = [SequenceStep("a", "b", CalleeKind.SERVICE, f"GET /{step}", 0.001, True, False) for step in range(number)]
    root = ElementTree.fromstring(sequence_diagram("GET /", "a", 0.1, parts))
    rows = min(number + 1, MOST_ROWS)
    feet = {float(line.get("y2", "0")) for line in root.iter(f"{SVG}line") if line.get("class") == "thin"}
    (foot,) = feet
    left_out = ROW / 2 if number + 1 > MOST_ROWS else 0.0
    assert foot == pytest.approx(TOP + rows * ROW + 12 + left_out)
    assert float(root.get("height", "0")) == pytest.approx(foot + FOOT)
    last = [float(text.get("y", "0")) for text in root.iter(f"{SVG}text")]
    assert max(last) < float(root.get("height", "0"))
