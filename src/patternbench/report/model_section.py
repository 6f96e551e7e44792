"""Sections of a report on models: words first, then the table, then the pictures; and a page of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import jinja2
import vl_convert

from patternbench.analyze.compare_words import change, interval
from patternbench.analyze.influence import thresholds
from patternbench.analyze.models import Analysis, ModelResult, MultivariateResult
from patternbench.analyze.units import held, number, quantity, signed
from patternbench.analyze.words import doubts, effects, headline, p_value, preferred

from . import model_section_figures as figures

Spec = dict[str, Any]


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite spec with the words under it; `name` is unique on a page."""

    name: str
    spec: Spec
    caption: str


@dataclass(frozen=True)
class Section:
    """A part of a page: its anchor, its title, its HTML without figures, and its figures in order."""

    anchor: str
    title: str
    html: str
    figures: tuple[Figure, ...]


@cache
def environment() -> jinja2.Environment:
    """Return the templates of analyses, with the filters that write numbers."""
    folder = jinja2.FileSystemLoader(Path(__file__).parent / "templates")
    made = jinja2.Environment(
        loader=folder, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    made.filters.update(number=_number, p_value=_p_value, quantity=_quantity, signed=signed)
    made.filters.update(change=change, interval=interval, held=lambda value, name: held(name, value))
    return made


def _number(value: float | None) -> str:
    return "" if value is None else number(value)


def _quantity(value: float | None, response: str) -> str:
    return "" if value is None else quantity(response, value)


def _p_value(value: float | None) -> str:
    return "not tested" if value is None else p_value(value)


def models_html(analysis: Analysis, title: str = "Models") -> str:
    """Return a self-contained page on an analysis; it opens offline and prints."""
    return page_html(title, model_sections(analysis))


def page_html(title: str, sections: Sequence[Section]) -> str:
    """Return one self-contained page of `sections`, the drawing library inlined."""
    specs = {figure.name: figure.spec for section in sections for figure in section.figures}
    template = environment().get_template("analysis_page.html.j2")
    return template.render(
        title=title,
        sections=sections,
        specs=specs,
        bundle=vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"),
    )


def model_sections(analysis: Analysis) -> tuple[Section, ...]:
    """Return one section per model, then one per formula with several responses."""
    singles = [model_section(model, f"model-{i + 1}") for i, model in enumerate(analysis.models)]
    together = [multivariate_section(one, f"together-{i + 1}") for i, one in enumerate(analysis.multivariate)]
    return (*singles, *together)


def model_section(result: ModelResult, anchor: str) -> Section:
    """Return the section of one model."""
    coefficients, kind = preferred(result)
    html = (
        environment()
        .get_template("model_section.html.j2")
        .render(
            result=result,
            headline=headline(result),
            effects=effects(result),
            doubts=doubts(result),
            coefficients=coefficients,
            kind=kind,
            references={name: levels[0] for name, levels in result.fit.design.levels.items()},
            limits=thresholds(result.fit),
        )
    )
    return Section(
        anchor, f"{result.fit.response} by {_right(result).replace('`', '')}", html, model_figures(result, anchor)
    )


def _right(result: ModelResult) -> str:
    return result.fit.design.parsed.text.split("~", 1)[1].strip().replace("`", "")


def model_figures(result: ModelResult, anchor: str) -> tuple[Figure, ...]:
    """Return the pictures of one model that its data allow."""
    n = result.fit.summary.n
    drawn = f" {figures.SHOWN:,} of {n:,} rows drawn at random, and all that stand out." if n > figures.SHOWN else ""
    found: list[tuple[str, Mapping[str, Any] | None, str]] = [
        (
            "effects",
            figures.effects_figure(result),
            "Effect of each factor over its measured range, others equal.",
        ),
        (
            "interaction",
            figures.interaction_figure(result),
            "Measured means with 95 % intervals; lines that are not parallel interact.",
        ),
        (
            "surface",
            figures.surface_figure(result),
            "Fitted response over the two strongest numeric factors, the others at their means.",
        ),
        (
            "observed",
            figures.observed_over_fitted(result),
            f"Measured against fitted: a good model follows the line.{drawn}",
        ),
        (
            "fitted",
            figures.residuals_over_fitted(result),
            f"No shape should be left here; a funnel is unequal spread.{drawn}",
        ),
        ("histogram", figures.residual_histogram(result), "Residuals: a bell when they are normal."),
        ("qq", figures.normal_qq(result), "Normal quantiles: on the line when the residuals are normal."),
        ("influence", figures.influence_figure(result), f"High and right: rows that pull the model.{drawn}"),
    ]
    return tuple(Figure(f"{anchor}-{name}", dict(one), caption) for name, one, caption in found if one is not None)


def multivariate_section(result: MultivariateResult, anchor: str) -> Section:
    """Return the section on several responses together."""
    html = environment().get_template("multivariate_section.html.j2").render(result=result)
    drawn: tuple[Figure, ...] = ()
    if result.quantiles is not None:
        caption = f"Chi-square quantiles: on the line when the residuals are jointly normal. {result.quantiles.rule}"
        drawn = (Figure(f"{anchor}-qq", figures.chi_square_qq(result.quantiles), caption),)
    return Section(anchor, f"{', '.join(result.design.responses)} together", html, drawn)
