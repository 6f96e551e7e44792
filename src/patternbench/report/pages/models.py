"""Sections of a report on models, each with words, tables and figures; and a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from patternbench.analyze.models.fit import Analysis, ModelResult, MultivariateResult
from patternbench.analyze.models.influence import thresholds
from patternbench.analyze.models.words import doubts, effects, headline, preferred, statistics
from patternbench.report.page import PageFigure, PageSection, page_html, section_html
from patternbench.report.pages import model_figures as figures


def models_html(analysis: Analysis, title: str = "Models", over: Sequence[str] = ()) -> str:
    """Return a self-contained page on an analysis, which opens offline and can be printed.

    ``over`` names the two factors of interaction and surface figures. Without it the strongest are drawn.
    """
    return page_html(title, [*side_by_side(analysis, over), *model_sections(analysis, over)])


def side_by_side(analysis: Analysis, over: Sequence[str]) -> list[PageSection]:
    """Return a section per response that several models share: the predictions of each over the factors ``over``."""
    sections = []
    for nth, response in enumerate(dict.fromkeys(model.fit.response for model in analysis.models), start=1):
        models = [model for model in analysis.models if model.fit.response == response]
        drawn = figures.models_figure(models, over) if over and len(models) > 1 else None
        if drawn is not None:
            caption = (
                f"Each model's prediction of {response}, with its other factors at their means and reference levels."
            )
            anchor, title = f"side-by-side-{nth}", f"{response}: the models next to each other"
            listed = [f"Model {i}: {model.fit.design.parsed.text}" for i, model in enumerate(models, start=1)]
            html = section_html("side_by_side.html.j2", listed=listed)
            sections.append(PageSection(anchor, title, html, (PageFigure(anchor, drawn, caption),)))
    return sections


def model_sections(analysis: Analysis, over: Sequence[str] = ()) -> tuple[PageSection, ...]:
    """Return one section per model, then one per formula with several responses."""
    singles = [model_section(model, f"model-{i + 1}", over) for i, model in enumerate(analysis.models)]
    together = [multivariate_section(one, f"together-{i + 1}") for i, one in enumerate(analysis.multivariate)]
    return (*singles, *together)


def model_section(result: ModelResult, anchor: str, over: Sequence[str] = ()) -> PageSection:
    """Return the section of one model."""
    coefficients, kind = preferred(result)
    html = section_html(
        "model_section.html.j2",
        result=result,
        headline=headline(result),
        effects=effects(result),
        doubts=doubts(result),
        statistics=statistics(result),
        coefficients=coefficients,
        kind=kind,
        references={name: levels[0] for name, levels in result.fit.design.levels.items()},
        limits=thresholds(result.fit),
    )
    return PageSection(
        anchor, f"{result.fit.response} by {_right(result).replace('`', '')}", html, model_figures(result, anchor, over)
    )


def _right(result: ModelResult) -> str:
    return result.fit.design.parsed.text.split("~", 1)[1].strip().replace("`", "")


def model_figures(result: ModelResult, anchor: str, over: Sequence[str] = ()) -> tuple[PageFigure, ...]:
    """Return the figures of one model that its data allow. ``over`` names two factors to draw it over."""
    n = result.fit.summary.n
    drawn = (
        f" Drawn are {figures.SHOWN:,} of {n:,} rows at random, and all that stand out." if n > figures.SHOWN else ""
    )
    drawings: list[tuple[str, Mapping[str, object] | None, str]] = [
        (
            "effects",
            figures.effects_figure(result),
            "Effect of each factor over its measured range, with the other factors unchanged.",
        ),
        (
            "interaction",
            figures.interaction_figure(result, over),
            "Measured means with 95 % intervals. Lines that aren't parallel show an interaction.",
        ),
        (
            "surface",
            figures.surface_figure(result, over),
            f"Fitted response over {'two' if over else 'the two strongest'} numeric factors, others at their means.",
        ),
        (
            "observed",
            figures.observed_over_fitted(result),
            f"Measured against fitted values. The points of a good model follow the line.{drawn}",
        ),
        (
            "fitted",
            figures.residuals_over_fitted(result),
            f"The points of a good model have no shape here. A funnel means unequal spread.{drawn}",
        ),
        ("histogram", figures.residual_histogram(result), "Residuals. Normal residuals have the shape of a bell."),
        ("qq", figures.normal_qq(result), "Normal quantiles. Normal residuals are on the line."),
        (
            "influence",
            figures.influence_figure(result),
            f"Rows at the top and on the right influence the model most.{drawn}",
        ),
    ]
    return tuple(
        PageFigure(f"{anchor}-{name}", dict(one), caption) for name, one, caption in drawings if one is not None
    )


def multivariate_section(result: MultivariateResult, anchor: str) -> PageSection:
    """Return the section on several responses together."""
    html = section_html("multivariate_section.html.j2", result=result)
    drawn: tuple[PageFigure, ...] = ()
    if result.quantiles is not None:
        caption = f"Chi-square quantiles. Jointly normal residuals are on the line. {result.quantiles.rule}"
        drawn = (PageFigure(f"{anchor}-qq", figures.chi_square_qq(result.quantiles), caption),)
    return PageSection(anchor, f"{', '.join(result.design.responses)} together", html, drawn)
