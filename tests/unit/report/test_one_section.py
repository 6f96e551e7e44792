"""A section looks the same on every page: that of a report and that of an analysis."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pandas as pd
import pytest
from tests.support.synthetic_run import synthetic_run

from patternbench.analyze.compare.comparison import ComparisonOptions, compare_with_baseline
from patternbench.observe.section import Drawing, Figure, Section, Spec, Table
from patternbench.report.charts import COLOURS
from patternbench.report.html import render
from patternbench.report.markdown import markdown
from patternbench.report.page import page_html
from patternbench.report.pages.comparison import comparison_sections

TESTS = pd.DataFrame({"test": ["Jarque-Bera", "Groups"], "verdict": ["fails", "holds"]})
WHOLE = Section(
    "whole",
    "Whole",
    ["A sentence with `code`."],
    [Table("Tests", TESTS, note="Read <these>.", looks={"verdict": {"fails": "worse", "holds": "better"}})],
    [Figure("Bars", {"mark": "bar"}, "Read them.")],
    drawings=[Drawing("Who calls whom", "<svg></svg>")],
    points=["One effect."],
    warnings=["One warning."],
)


def shown(page: str) -> str:
    return re.sub(r'data-section="\d+"', "", page.partition('<section id="whole">')[2].partition("</section>")[0])


@pytest.mark.slow
def test_a_section_has_one_markup_on_the_pages_of_reports_and_of_analyses() -> None:
    report = replace(synthetic_run(rounds=2), sections=[WHOLE])
    assert shown(render(report)) == shown(page_html("Analysis", [WHOLE]))


@pytest.mark.parametrize(
    ("first", "cells"),
    [
        (["a", "a", "b"], ['<td rowspan="2">a', "", "<td>b"]),
        ([10, 10, 20], ["<td>10", "<td>10", "<td>20"]),
        ([0.5, 0.5, 0.5], ["<td>0.5", "<td>0.5", "<td>0.5"]),
    ],
)
def test_equal_names_are_one_cell_and_equal_numbers_are_each_their_own(first: list[object], cells: list[str]) -> None:
    """A number that stands once for three rows would read as one measurement of which three things are said."""
    table = Table("Rounds", pd.DataFrame({"first": first, "then": ["x", "y", "z"]}))
    page = page_html("Analysis", [Section("one", "One", tables=[table])])
    body = page.partition('<section id="one">')[2]
    assert [row.partition("<td>" + then)[0] for row, then in zip(_rows(body), "xyz", strict=True)] == cells


def _rows(body: str) -> list[str]:
    """The rows of the first table of a page, without its heading."""
    rows = [re.sub(r"\s*</?(tr|td|tbody|table)?>?\s*$", "", one).strip() for one in body.split("<tr>")]
    return [one for one in rows if "<td" in one][:3]


def test_every_part_of_a_section_is_shown() -> None:
    page = shown(page_html("Analysis", [WHOLE]))
    assert "A sentence with <code>code</code>." in page
    assert "<li>One effect.</li>" in page
    assert re.search(r"<h3>Warnings</h3>\s*<ul class=\"warnings\">\s*<li>One warning.</li>", page)
    assert "<svg></svg>" in page
    assert '<td class="worse">fails' in page
    assert '<td class="better">holds' in page
    assert '<p class="muted">Read &lt;these&gt;.</p>' in page
    assert 'data-figure="0"' in page


def test_a_section_in_markdown_has_its_lists() -> None:
    assert "\n- One effect.\n\n- One warning.\n" in markdown(WHOLE)


def test_a_table_in_markdown_has_its_note_below_it() -> None:
    assert "| Groups | holds |\n\nRead \\<these\\>.\n" in markdown(WHOLE)
    noted, plain = Table("One", TESTS, note="A note."), Table("Two", TESTS)
    assert markdown(Section("x", "X", tables=[noted, plain])).count("A note.\n\n**Two**") == 1


@pytest.mark.parametrize(
    ("response", "looks"),
    [
        ("p95", {"higher": "worse", "lower": "better"}),
        ("goodput", {"higher": "better", "lower": "worse"}),
        ("success_rate", {"higher": "better", "lower": "worse"}),
        ("Throughput", {}),
        ("of_my_own", {}),
    ],
)
def test_a_change_looks_better_in_the_direction_in_which_its_response_is(response: str, looks: dict[str, str]) -> None:
    rows = [
        {"block": block, "strategy": name, response: level * (1 + block**power / 1000)}
        for block in range(5)
        for name, level, power in (("baseline", 10.0, 1), ("retry", 20.0, 2))
    ]
    how = ComparisonOptions(responses=(response,), by=("strategy",))
    (section,) = comparison_sections(compare_with_baseline(pd.DataFrame(rows), ["strategy=baseline"], how))
    assert [table.looks["verdict"] for table in section.tables] == [looks]
    assert "higher" in list(section.tables[0].frame["verdict"])
    colours = dict(zip(*(_scale(section.figures[0].spec)[end] for end in ("domain", "range")), strict=True))
    red, green = COLOURS[1], COLOURS[2]
    expected = {"better": green, "worse": red, "": COLOURS[0]}
    assert [colours[name] for name in ("higher", "lower")] == [expected[looks.get(n, "")] for n in ("higher", "lower")]


def _scale(spec: Spec) -> Mapping[str, Sequence[str]]:
    """The scale of the colours of a figure of differences."""
    layers = cast(list[dict[str, Any]], spec["layer"])
    return next(one["encoding"]["color"]["scale"] for one in layers if "color" in one.get("encoding", {}))
