"""Figures 2 to 12 of the paper from measured rows; its odd twins on AWS have no counterpart here."""

from __future__ import annotations

from collections.abc import Iterator

from studies.published.generate_2023 import INTERACTIONS

from patternbench.analyze.models.fit import fit_formulas
from patternbench.observe.section import Spec
from patternbench.report.pages.model_figures import interaction_figure, models_figure, normal_qq
from patternbench.report.svg import draw
from reproductions.elmalki_zdun_2021.bundle_figures import side_by_side
from reproductions.elmalki_zdun_2023 import trade_off
from reproductions.elmalki_zdun_2023.combined_findings import Study

OF_MODELS = ((2, "total_time"), (4, "failure_rate"))
SIZE = "bundle_size"


def drawn(study: Study) -> dict[str, str]:
    """Every figure as SVG, by its name."""
    return {f"measured-{name}.svg": draw(figure) for name, figure in figures(study)}


def figures(study: Study) -> Iterator[tuple[str, Spec]]:
    """Yield what models say over the limit, means over pairs of factors as the paper has them, trade-off, residuals."""
    for number, response in OF_MODELS:
        of_response = [one.models[response] for one in study.models.values()]
        yield str(number), models_figure(of_response, ("rate_limit", "request_bundle")) or {}
    for (number, _), response, factor in INTERACTIONS:
        complete = study.rows.dropna(subset=[response])
        bundled = complete[complete["request_bundle"] == "Y"] if factor == SIZE else complete
        model = fit_formulas(bundled, [f"{response} ~ {factor} * load_balancing"]).models[0]
        yield str(number), interaction_figure(model, (factor, "load_balancing")) or {}
    yield "trade-off", trade_off.figure(study.rows, study.users)
    yield "residuals", side_by_side(*(normal_qq(study.models[2].models[response]) for _, response in OF_MODELS))
