"""Sections of a report on comparisons and recommendations, and pages of them."""

from __future__ import annotations

from collections.abc import Sequence

from patternbench.analyze.compare import Comparison, Difference
from patternbench.analyze.gate import Verdict
from patternbench.analyze.recommend import Recommendation, configuration
from patternbench.analyze.rounds import label
from patternbench.analyze.units import number

from . import comparison_section_figures as figures
from .model_section import Figure, Section, environment, page_html


def comparison_html(comparison: Comparison, verdicts: Sequence[Verdict] = (), title: str = "Comparison") -> str:
    """Return a self-contained page on a comparison, the gate's verdicts first."""
    return page_html(title, comparison_sections(comparison, verdicts))


def comparison_sections(comparison: Comparison, verdicts: Sequence[Verdict] = ()) -> tuple[Section, ...]:
    """Return one section per response."""
    names = list(dict.fromkeys(d.response for d in comparison.differences))
    return tuple(_response_section(comparison, name, verdicts, i) for i, name in enumerate(names))


def _response_section(comparison: Comparison, response: str, verdicts: Sequence[Verdict], i: int) -> Section:
    of_it = [d for d in comparison.differences if d.response == response]
    html = (
        environment()
        .get_template("comparison_section.html.j2")
        .render(
            sentences=sentences(of_it, comparison.noise_floor.get(response)),
            verdicts=[v for v in verdicts if v.condition.response == response],
            differences=sorted(of_it, key=lambda d: (d.verdict == "undecided", -abs(d.relative or 0.0))),
            notes=comparison.notes if i == 0 else (),
            level=comparison.level,
        )
    )
    drawn = figures.differences_figure(comparison, response)
    caption = "Change with its interval; grey band: the noise floor." + _left_out(comparison, response)
    anchor = f"difference-{i + 1}"
    return Section(anchor, response, html, (Figure(f"{anchor}-figure", drawn, caption),) if drawn else ())


def _left_out(comparison: Comparison, response: str) -> str:
    total = sum(d.response == response for d in comparison.differences)
    shown = len(figures.drawn_differences(comparison, response))
    return f" {shown} of {total} scenarios drawn: those that changed most." if shown < total else ""


def sentences(differences: Sequence[Difference], floor: float | None) -> list[str]:
    """Say in words what changed, by how much at most, and what could not be told."""
    found = []
    for verdict in ("higher", "lower"):
        these = [d for d in differences if d.verdict == verdict]
        if these:
            largest = max(these, key=lambda d: abs(d.relative or 0.0))
            found.append(
                f"{verdict.capitalize()} in {len(these)} of {len(differences)} scenarios, most at "
                f"{largest.scenario}: {_change(largest)}."
            )
    undecided = [d for d in differences if d.verdict == "undecided"]
    if undecided:
        found.append(
            f"No difference is shown in {len(undecided)} of {len(differences)} scenarios.{_would_find(undecided)}"
        )
    if floor is not None:
        found.append(f"A scenario compared with itself differs by up to {floor:.2g} % (95 times in 100).")
    return found


def _change(d: Difference) -> str:
    if d.relative is None or d.relative_interval.low is None or d.relative_interval.high is None:
        return f"by {number(d.difference)}"
    return f"{d.relative:+.3g} % ({d.relative_interval.low:+.3g} to {d.relative_interval.high:+.3g} %)"


def _would_find(undecided: Sequence[Difference]) -> str:
    known = sorted(d.detectable for d in undecided if d.detectable is not None)
    if not known:
        return ""
    return f" With these rounds a change of {known[len(known) // 2]:.2g} % would typically have been found."


def recommendation_html(found: Recommendation, title: str = "Recommendation") -> str:
    """Return a self-contained page on a recommendation."""
    return page_html(title, recommendation_sections(found))


def recommendation_sections(found: Recommendation) -> tuple[Section, ...]:
    """Return the section that says what to choose, then a trade-off for every given condition."""
    html = environment().get_template("recommendation_section.html.j2").render(found=found, label=label)
    caption = "How sure the choice is: bars of one colour are sure, shared bars are not."
    wins = Figure("recommendation-wins", figures.wins_figure(found.choices, found.given), caption)
    first = Section("recommendation", f"To {found.objectives[0].words}", html, (wins,))
    return (first, *_trade_offs(found))


def _trade_offs(found: Recommendation) -> list[Section]:
    sections = []
    for i, choice in enumerate(found.choices):
        drawn = figures.trade_off_figure(choice, found.given)
        if drawn is not None:
            chosen = configuration(choice.chosen.scenario, found.given) if choice.chosen else "nothing"
            caption = f"Each point is a configuration; the line joins the Pareto front; ringed: {chosen}."
            figure = Figure(f"trade-off-{i + 1}-figure", drawn, caption)
            sections.append(Section(f"trade-off-{i + 1}", f"Trade-off at {label(choice.given)}", "", (figure,)))
    return sections
