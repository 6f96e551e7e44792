"""A section looks the same on every page: that of a report and that of an analysis."""

from __future__ import annotations

import re
from dataclasses import replace

import pandas as pd
from tests.support.synthetic_run import synthetic_run

from patternbench.observe.section import Drawing, Figure, Section, Table
from patternbench.report.html import render
from patternbench.report.markdown import markdown
from patternbench.report.page import page_html

TESTS = pd.DataFrame({"test": ["Jarque-Bera", "Groups"], "verdict": ["fails", "holds"]})
WHOLE = Section(
    "whole",
    "Whole",
    ["A sentence with `code`."],
    [Table("Tests", TESTS, note="Read <these>.", looks={"verdict": {"fails": "worse", "holds": "better"}})],
    [Figure("Bars", {"mark": "bar"}, "Read them.")],
    drawings=[Drawing("Who calls whom", "<svg></svg>")],
    points=["One effect."],
    doubts=["One doubt."],
)


def shown(page: str) -> str:
    return re.sub(r'data-section="\d+"', "", page.partition('<section id="whole">')[2].partition("</section>")[0])


def test_a_section_has_one_markup_on_the_pages_of_reports_and_of_analyses() -> None:
    report = replace(synthetic_run(rounds=2), sections=[WHOLE])
    assert shown(render(report)) == shown(page_html("Analysis", [WHOLE]))


def test_every_part_of_a_section_is_shown() -> None:
    page = shown(page_html("Analysis", [WHOLE]))
    assert "A sentence with <code>code</code>." in page
    assert "<li>One effect.</li>" in page
    assert re.search(r"<h3>Warnings</h3>\s*<ul class=\"doubts\">\s*<li>One doubt.</li>", page)
    assert "<svg></svg>" in page
    assert '<td class="worse">fails' in page
    assert '<td class="better">holds' in page
    assert '<p class="muted">Read &lt;these&gt;.</p>' in page
    assert 'data-figure="0"' in page


def test_a_section_in_markdown_has_its_lists() -> None:
    assert "\n- One effect.\n\n- One doubt.\n" in markdown(WHOLE)
