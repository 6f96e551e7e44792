"""Sections on comparisons and recommendations, and pages of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from patternbench.analyze.compare.comparison import Comparison, Difference
from patternbench.analyze.compare.gate import GateVerdict
from patternbench.analyze.compare.words import by_chance, change, detectable, interval, ranked, sentences
from patternbench.analyze.recommend.recommendation import Recommendation, configuration
from patternbench.analyze.rounds import label
from patternbench.observe.section import Figure, Section, Table
from patternbench.report.labels import looks_of_changes
from patternbench.report.page import page_html
from patternbench.report.pages import comparison_figures as figures
from patternbench.report.pages.answers import answer
from patternbench.report.pages.chosen import chosen, wins
from patternbench.terms.quantities import p_value, quantity

NAMES = ("A is ", "B is ", "Compared within ")
"""How the lines begin that say what is compared, without which no answer can be read."""


def comparison_html(
    comparison: Comparison, verdicts: Sequence[GateVerdict] = (), title: str = "Comparison", about: Sequence[str] = ()
) -> str:
    """Return a self-contained page on a comparison: the answer, each response, then what was compared (``about``)."""
    named = [line for line in about if line.startswith(NAMES)]
    sections = [answer(comparison, verdicts, named), *comparison_sections(comparison, verdicts)]
    return page_html(title, sections, [line for line in about if line not in named])


def comparison_sections(comparison: Comparison, verdicts: Sequence[GateVerdict] = ()) -> tuple[Section, ...]:
    """Return one section per response."""
    names = list(dict.fromkeys(d.response for d in comparison.differences))
    return tuple(_response_section(comparison, name, verdicts, i) for i, name in enumerate(names))


def _response_section(comparison: Comparison, response: str, verdicts: Sequence[GateVerdict], i: int) -> Section:
    gates = pd.DataFrame([_gate_row(v) for v in verdicts if v.condition.response == response])
    looks = {"verdict": {"PASS": "better", "FAIL": "worse"}}
    return Section(
        f"difference-{i + 1}",
        response,
        points=[*(by_chance(comparison) if i == 0 else ()), *sentences(comparison, response)],
        tables=[*([Table("Gate", gates, looks=looks)] if len(gates) else []), _differences(comparison, response)],
        figures=_differences_figure(comparison, response),
    )


def _gate_row(verdict: GateVerdict) -> dict[str, str]:
    failing = verdict.failing[0].scenario if verdict.failing else ""
    more = f" and {len(verdict.failing) - 1} more" if len(verdict.failing) > 1 else ""
    return {
        "condition": verdict.condition.text,
        "verdict": verdict.outcome.upper(),
        "scenarios": str(verdict.checked),
        "fails at": f"{failing}{more}",
    }


def _differences(comparison: Comparison, response: str) -> Table:
    of_it = ranked([d for d in comparison.differences if d.response == response])
    rows = pd.DataFrame([_difference_row(d) for d in of_it])
    title = f"Scenarios, with {100 * comparison.level:.0f} % intervals"
    return Table(title, rows, looks={"verdict": looks_of_changes(response)})


def _difference_row(d: Difference) -> dict[str, str]:
    a, b = (quantity(d.response, centre, d.unit) for centre in d.centres)
    return {
        "scenario": d.scenario,
        "A": a,
        "B": b,
        "change": change(d),
        "interval": interval(d),
        "p (corrected)": "" if d.p_adjusted is None else p_value(d.p_adjusted),
        "effect": d.size,
        "would be found": detectable(d),
        "verdict": str(d.verdict),
    }


def _differences_figure(comparison: Comparison, response: str) -> list[Figure]:
    spec = figures.differences_figure(comparison, response)
    caption = (
        "Change with its interval. Grey is the noise floor: A's rounds differ from themselves by less in 95 % of cases."
        + _left_out(comparison, response)
    )
    return [Figure("Change of each scenario", spec, caption)] if spec else []


def _left_out(comparison: Comparison, response: str) -> str:
    total = sum(d.response == response for d in comparison.differences)
    shown = len(figures.drawn_differences(comparison, response))
    return f" The figure shows {shown} of {total} scenarios, those that changed most." if shown < total else ""


def recommendation_html(
    recommendation: Recommendation, title: str = "Recommendation", about: Sequence[str] = ()
) -> str:
    """Return a self-contained page on a recommendation."""
    return page_html(title, recommendation_sections(recommendation), about)


def recommendation_sections(recommendation: Recommendation) -> tuple[Section, ...]:
    """Return the section on the choice, and one with the trade-off under each condition."""
    first = chosen(recommendation)
    shares = Section("wins", "How sure that is", figures=[wins(recommendation)])
    drawn = list(_trade_offs(recommendation))
    ring = " The choice has a ring." if any(choice.chosen for choice in recommendation.choices) else ""
    words = [f"Each point is a configuration. The line joins those that no other one beats in both.{ring}"]
    return (first, shares, Section("trade-offs", "Trade-offs", words, figures=drawn)) if drawn else (first, shares)


def _trade_offs(recommendation: Recommendation) -> Iterator[Figure]:
    for choice in recommendation.choices:
        spec = figures.trade_off_figure(choice, recommendation.conditions, recommendation.units)
        if spec is not None:
            chosen = configuration(choice.chosen.scenario, recommendation.conditions) if choice.chosen else ""
            title = label(choice.conditions) if choice.conditions else "All conditions"
            yield Figure(title, spec, f"The choice is {chosen}." if chosen else "Nothing keeps the limits.")
