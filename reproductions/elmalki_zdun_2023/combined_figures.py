"""Figures 2 to 12 of the paper from measured rows; its odd twins on AWS have no counterpart here."""

from __future__ import annotations

from collections.abc import Iterator

from studies.published.generate_2023 import INTERACTIONS

from patternbench.analyze.models.fit import fit_formulas
from patternbench.observe.section import Spec
from patternbench.report.pages.model_figures import interaction_figure, models_figure
from patternbench.report.svg import draw
from reproductions.elmalki_zdun_2023.combined_findings import Study

OF_MODELS = ((2, "total_time"), (4, "failure_rate"))


def drawn(study: Study) -> dict[str, str]:
    """Every figure as SVG, by its name."""
    return {f"{name}.svg": draw(figure) for name, figure in figures(study)}


def figures(study: Study) -> Iterator[tuple[str, Spec]]:
    """Yield what the five models say over the limit, then the means over pairs of factors, numbered as in the paper."""
    for number, response in OF_MODELS:
        of_response = [one.models[response] for one in study.models.values()]
        yield f"measured-{number}", models_figure(of_response, ("rate_limit", "request_bundle")) or {}
    for (number, _), response, factor in INTERACTIONS:
        complete = study.rows.dropna(subset=[response])
        model = fit_formulas(complete, [f"{response} ~ {factor} * load_balancing"]).models[0]
        yield f"measured-{number}", interaction_figure(model, (factor, "load_balancing")) or {}
