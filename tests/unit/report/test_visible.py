"""Levels and labels with characters that act on what shows them."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from patternbench.observe.section import Figure, Section
from patternbench.report.page import _library, environment, page_html
from patternbench.report.svg import draw
from patternbench.terms.visible import visible


@pytest.mark.parametrize("sign", ["\x1b", "\x00", "\u2028", "\u202e", "\ufffe", "\ud800", "\u200b", "\U000e0041"])
def test_a_level_with_a_control_character_is_drawn_and_ends_no_process(sign: str) -> None:
    values = [{f"le{sign}vel": f"a{sign}b", "y": 1}]
    encoding = {"x": {"field": f"le{sign}vel", "type": "nominal"}, "y": {"field": "y", "type": "quantitative"}}
    drawn = draw({"data": {"values": values}, "mark": "bar", "encoding": encoding})
    assert sign not in drawn
    assert drawn.startswith("<svg")


def test_an_emoji_and_an_accent_stay_and_a_turn_of_direction_is_written_out() -> None:
    assert visible("é 👩\u200d🚀 \u202egpj.exe\n") == "é 👩\u200d🚀 \\u202egpj.exe\n"


def test_neither_the_words_nor_the_data_of_a_page_hold_what_acts_on_it() -> None:
    acts = "a\x1bb\x00c\u202ed"
    figure = Figure(acts, {"title": acts, "data": {"values": [{acts: 1}]}}, acts)
    sections = [Section("first", acts, [acts, "kept"], figures=[figure], points=[acts], warnings=[acts])]
    page = page_html(acts, sections, about=[acts]) + str(section_of(acts))
    outside_the_library = page.replace(str(_library()), "")
    assert not [one for one in "\x1b\x00\u202e" if one in outside_the_library]
    assert "a&lt;1b&gt;b" in page, "in words"
    assert "a\\u003c1b>b" in page, "in data"
    assert "<p>kept</p>" in page


def section_of(text: str) -> Markup:
    """A part of a page, whose texts a filter sets as code."""
    return Markup(environment().from_string("{{ text | coded }} {{ text }}").render(text=text))


@pytest.mark.parametrize(("sign", "shown"), [("\u200b", "\\u200b"), ("\u00ad", "\\xad"), ("\U000e0041", "\\U000e0041")])
def test_what_no_one_sees_is_written_out_so_that_no_two_levels_look_alike(sign: str, shown: str) -> None:
    assert visible(f"a{sign}") == f"a{shown}"
