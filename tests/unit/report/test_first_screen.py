"""The first screen of a report: what to choose where, what it gains and costs, how sure, and the contenders."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import pytest
from tests.support.studies import changed, study
from tests.support.watched import change, screen
from tests.unit.report.test_evidence import SMALL
from tests.unit.report.test_evidence import report as measured

from patternbench.report import interval_pictures
from patternbench.report.first_screen import PERCENT, ChangesIn, Contender, DrawnChange, FirstScreen, rounded_up, widest
from patternbench.report.html import render
from patternbench.report.model import RunReport
from patternbench.report.sections.deciding import MOST_CONTENDERS, changes_in
from patternbench.report.sections.declared import with_sections
from patternbench.terms.quantities import MINUS


def made(**changes: str) -> RunReport:
    return with_sections(measured(), study(changed(SMALL, **changes)))


def first(**changes: str) -> FirstScreen:
    found = made(**changes).first_screen
    assert found is not None
    return found


def test_there_is_a_row_for_each_condition_with_the_choice_of_the_section_below() -> None:
    report = made()
    (section,) = [one for one in report.sections if one.anchor == "recommendation"]
    shown = report.first_screen
    assert shown is not None
    assert len(shown.rows) == len(section.tables[0].frame)
    assert list(shown.sentences) == section.choice[0].split("\n")
    assert list(shown.notes) == list(section.choice[1:])


def test_a_row_has_the_interval_of_its_choice_against_the_baseline_unless_that_is_the_baseline() -> None:
    for row in first().rows:
        assert (row.gain is None) == row.yardstick
        if row.gain:
            (one,) = row.gain.each
            assert one.low is not None and one.value is not None and one.high is not None
            assert one.low <= one.value <= one.high
            assert row.gain.text == one.text


def test_every_configuration_but_the_baseline_is_a_contender_under_each_condition() -> None:
    shown = first()
    assert shown.against == "baseline"
    by_condition: dict[str, list[Contender]] = {}
    for one in shown.contenders:
        by_condition.setdefault(one.condition, []).append(one)
    assert len({len(group) for group in by_condition.values()}) == 1
    assert all("baseline" not in one.name for one in shown.contenders)
    assert len(shown.contenders) + shown.hidden == sum(map(len, by_condition.values())) + shown.hidden
    assert len(shown.contenders) <= MOST_CONTENDERS


def test_a_study_without_a_pattern_has_no_first_screen_of_choices() -> None:
    report = measured()
    alone = replace(report, factors={name: one for name, one in report.factors.items() if name == "users"})
    assert with_sections(alone, study(changed(SMALL))).first_screen is None


def test_the_page_says_the_choice_before_anything_else_and_how_it_was_run_at_the_end() -> None:
    page = render(made())
    body = page[page.index("<main") :]
    places = [
        body.index(f'id="{anchor}"') for anchor in ("findings", "noise", "figures", "troubles", "what", "provenance")
    ]
    assert places == sorted(places)
    answer = re.search(r'<div class="answer [a-z]+">\s*<p>(.*?)</p>', body)
    assert answer
    assert body.index('class="answer') < body.index('class="choices"') < body.index('class="contenders"')
    assert body.index('class="contenders"') < body.index('class="cards"')


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        ([(-44, -41, -38)], "−41\u00a0% (−44 to −38\u00a0%)"),
        ([(-44, -41, -38), (-20, -12, -4), (-3, -30, 5)], "−41 to −12\u00a0%, 3 conditions"),
    ],
)
def test_changes_under_several_conditions_are_said_from_where_to_where(
    texts: Sequence[tuple[float, float, float]], said: str
) -> None:
    assert changes_in("p95", [change(*one, "better") for one in texts]).text == said


def test_changes_with_different_looks_have_none_together() -> None:
    better, worse = change(-2, -1, -0.5, "better"), change(1, 2, 3, "worse")
    assert ChangesIn("p95", "", [better, better]).look == "better"
    assert ChangesIn("p95", "", [better, worse]).look == "open"


@pytest.mark.parametrize(
    ("value", "up"),
    [(0.045, 0.05), (1, 1), (1.1, 1.5), (1.6, 2), (4.2, 5), (44, 50), (51, 60), (81, 100), (100, 100), (999, 1000)],
)
def test_a_scale_ends_at_a_round_number(value: float, up: float) -> None:
    assert rounded_up(value) == pytest.approx(up)


def test_one_interval_that_is_far_wider_does_not_hide_the_others() -> None:
    usual = [change(-4, -3, -2, "better")] * 3
    assert widest(usual) == 4
    assert widest([*usual, change(-900, 5, 900, "open")]) == 4
    assert widest([]) == 1


def test_a_picture_tells_better_worse_and_neither_by_its_marks() -> None:
    drawn = str(interval_pictures.contenders(screen()))
    assert drawn.count('class="mark better"') == 2
    assert drawn.count('class="mark open"') == 2
    assert len(re.findall(r'<path class="mark"', drawn)) == 1
    assert drawn.count("<title>") == 5


def test_an_interval_that_leaves_the_scale_ends_in_an_arrow() -> None:
    drawn = str(interval_pictures.small([change(-12, 20, 300, "open")], 100.0))
    assert "l4 3l-4 3" in drawn
    assert "l4 3l-4 3" not in str(interval_pictures.small([change(-12, 20, 30, "open")], 100.0))


@pytest.mark.parametrize("reach", [0.02, 0.5, 1.0, 40.0, 1e6])
def test_an_interval_is_drawn_to_scale_whatever_its_numbers_are(reach: float) -> None:
    """No change is in the middle, the ends of the scale are at its ends, and a part of the reach is that part of it."""
    drawn = str(interval_pictures.small([change(0.5 * reach, -0.5 * reach, reach, "open")], reach))
    places = sorted({float(at) for at in re.findall(r'(?:\bM|cx=")(-?[0-9.]+)', drawn)})
    left, right = 4.0, interval_pictures.SMALL_WIDTH - 4.0
    middle, quarter = (left + right) / 2, (right - left) / 4
    assert {round(middle, 1), round(middle - quarter, 1), round(middle + quarter, 1)} <= {*places, *_ends(drawn)}
    assert max(*places, *_ends(drawn)) <= right
    assert min(*places, *_ends(drawn)) >= left


def _ends(drawn: str) -> list[float]:
    """Where horizontal lines end."""
    return [float(at) for at in re.findall(r"H(-?[0-9.]+)", drawn)]


def test_an_estimate_that_is_off_the_scale_is_an_arrow_and_no_ring_at_its_end() -> None:
    drawn = str(interval_pictures.small([change(-87, 202, 7122, "open")], 100.0))
    assert "<circle" not in drawn
    assert "l-6 -4v8z" in drawn


def amount(value: float, ends: tuple[float, float] | None = None, where: str = "here") -> Contender:
    low, high = ends or (None, None)
    return Contender(where, f"at {value:g}", DrawnChange(f"{value:g} %", "%", value, low, high, "open"), chosen=False)


def test_amounts_begin_at_nothing_and_are_bars_where_they_have_no_interval() -> None:
    drawn = str(interval_pictures.amounts([amount(25), amount(50), amount(100)], "shares"))
    widths = [float(one) for one in re.findall(r'<rect class="bar" .*?width="([0-9.]+)"', drawn)]
    assert widths == pytest.approx([widths[2] / 4, widths[2] / 2, widths[2]], abs=0.2)
    assert drawn.count(">here</text>") == 1
    assert [text for text in ("25 %", "50 %", "100 %") if f">{text}</text>" in drawn] == ["25 %", "50 %", "100 %"]


def test_an_amount_with_an_interval_is_drawn_next_to_where_there_is_enough() -> None:
    drawn = str(interval_pictures.amounts([amount(0.5, (0.25, 2.0))], "errors", 1.0))
    assert "<rect" not in drawn
    nothing, enough = sorted(float(at) for at in re.findall(r'class="zero" d="M([0-9.]+) ', drawn))
    ((low, high),) = re.findall(r'class="ends" .*? d="M([0-9.]+) [0-9.]+H([0-9.]+)', drawn)
    assert float(low) - nothing == pytest.approx((enough - nothing) / 4, abs=0.2)
    assert float(high) - nothing == pytest.approx(2 * (enough - nothing), abs=0.2)


def test_a_picture_of_amounts_can_be_empty_or_of_nothing() -> None:
    assert "<svg" in interval_pictures.amounts([], "none")
    assert 'width="0.0"' in interval_pictures.amounts([amount(0)], "nothing")


def test_names_in_a_picture_stay_text() -> None:
    evil = replace(screen(), contenders=(replace(screen().contenders[0], name='"><script>\x1b'),))
    drawn = str(interval_pictures.contenders(evil))
    assert "<script" not in drawn
    assert "\x1b" not in drawn


@pytest.mark.parametrize(("change", "ends"), [(12.0, "15"), (900.0, "1,000"), (17_000.0, "20,000")])
def test_a_scale_says_how_far_it_reaches_however_far_that_is(change: float, ends: str) -> None:
    drawn = Contender("", "slow", DrawnChange("so much", PERCENT, change, change * 0.9, change * 1.01, "worse"), False)
    words = re.findall(r'<text class="axis"[^>]*>([^<]*)</text>', interval_pictures.rows([drawn], "p95"))
    assert words == [f"{MINUS}{ends}\u00a0%", "no change", f"+{ends}\u00a0%"]
