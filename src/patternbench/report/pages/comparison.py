"""Sections of a report on comparisons and recommendations, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from markupsafe import Markup

from patternbench.analyze.compare.comparison import Comparison
from patternbench.analyze.compare.gate import GateVerdict
from patternbench.analyze.compare.words import by_chance, ranked, sentences
from patternbench.analyze.recommend.recommendation import Recommendation, configuration, flips_in_words
from patternbench.analyze.rounds import label
from patternbench.report.page import PageFigure, PageSection, page_html, section_html
from patternbench.report.pages import comparison_figures as figures


def comparison_html(
    comparison: Comparison, verdicts: Sequence[GateVerdict] = (), title: str = "Comparison", about: Sequence[str] = ()
) -> str:
    """Return a self-contained page on a comparison: what was compared (``about``), then the gate's verdicts."""
    return page_html(title, comparison_sections(comparison, verdicts), about)


def comparison_sections(comparison: Comparison, verdicts: Sequence[GateVerdict] = ()) -> tuple[PageSection, ...]:
    """Return one section per response."""
    names = list(dict.fromkeys(d.response for d in comparison.differences))
    return tuple(_response_section(comparison, name, verdicts, i) for i, name in enumerate(names))


def _response_section(comparison: Comparison, response: str, verdicts: Sequence[GateVerdict], i: int) -> PageSection:
    of_it = [d for d in comparison.differences if d.response == response]
    html = section_html(
        "comparison_section.html.j2",
        sentences=[*(by_chance(comparison) if i == 0 else ()), *sentences(comparison, response)],
        verdicts=[v for v in verdicts if v.condition.response == response],
        differences=ranked(of_it),
        notes=comparison.notes if i == 0 else (),
        level=comparison.level,
    )
    drawn = figures.differences_figure(comparison, response)
    caption = (
        "Change with its interval. Grey is the noise floor: A's rounds differ from themselves by less in 95 % of cases."
        + _left_out(comparison, response)
    )
    anchor = f"difference-{i + 1}"
    return PageSection(anchor, response, html, (PageFigure(f"{anchor}-figure", drawn, caption),) if drawn else ())


def _left_out(comparison: Comparison, response: str) -> str:
    total = sum(d.response == response for d in comparison.differences)
    shown = len(figures.drawn_differences(comparison, response))
    return f" The figure shows {shown} of {total} scenarios, those that changed most." if shown < total else ""


def recommendation_html(recommendation: Recommendation, title: str = "Recommendation") -> str:
    """Return a self-contained page on a recommendation."""
    return page_html(title, recommendation_sections(recommendation))


def recommendation_sections(recommendation: Recommendation) -> tuple[PageSection, ...]:
    """Return the section on the choice, and one with the trade-off under each condition."""
    caption = "Share of redrawn blocks in which each configuration comes first. Tests decide what is clear."
    wins = PageFigure(
        "recommendation-wins", figures.wins_figure(recommendation.choices, recommendation.conditions), caption
    )
    flips = flips_in_words(recommendation.flips)
    words = section_html("recommendation_section.html.j2", recommendation=recommendation, flips=flips)
    first = PageSection("recommendation", f"To {recommendation.objectives[0].words}", words, (wins,))
    drawn = tuple(_trade_offs(recommendation))
    title = f"Trade-offs: each point is a configuration; the line joins the Pareto front{_leading(recommendation)}"
    return (first, PageSection("trade-offs", title, Markup(), drawn)) if drawn else (first,)


def _leading(recommendation: Recommendation) -> str:
    return "; the choice has a ring" if any(choice.chosen for choice in recommendation.choices) else ""


def _trade_offs(recommendation: Recommendation) -> Iterator[PageFigure]:
    for i, choice in enumerate(recommendation.choices):
        drawn = figures.trade_off_figure(choice, recommendation.conditions, recommendation.units)
        if drawn is not None:
            chosen = (
                configuration(choice.chosen.scenario, recommendation.conditions)
                if choice.chosen
                else "nothing keeps the limits"
            )
            where = f"{label(choice.conditions)}: " if choice.conditions else ""
            yield PageFigure(f"trade-off-{i + 1}-figure", drawn, f"{where}{chosen}.")
