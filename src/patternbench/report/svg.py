"""Figures as SVG files, drawn without a browser."""

from collections.abc import Mapping
from pathlib import Path

from patternbench.records.folder import drafted
from patternbench.report import vega
from patternbench.report.figures.scenarios import (
    PAPER_FIGURES,
    axis_title,
    config,
    figure_responses,
    grid_of,
    points,
    shown_unit,
    wide_grid,
)
from patternbench.report.labels import RESPONSES
from patternbench.report.layout import Layout, layout
from patternbench.report.model import RunReport
from patternbench.terms.responses import HEADLINES
from patternbench.terms.visible import all_visible


def figures(report: RunReport) -> dict[str, str]:
    """Draw the paper's two figures, the headline responses and those of sections; file stem to SVG text.

    Without the library that draws SVG files, only the sections' own drawings are there.
    """
    drawn = {name: vega.svg_of(spec) for name, spec in specs(report).items()} if vega.draws_svg() else {}
    return drawings(report) | drawn


def specs(report: RunReport) -> dict[str, dict[str, object]]:
    """Return what the library has to draw for ``figures``; file stem to whole Vega-Lite specification."""
    if not len(report.done):
        return {}
    arrangement = layout(report)
    drawable = {response.name for response in figure_responses(report)}
    expected = [name for name in dict.fromkeys([*PAPER_FIGURES, *HEADLINES]) if name in drawable]
    drawn = wide_grid(report)
    own = {name: _grid(report, arrangement, drawn, name) for name in expected}
    return {name: themed(spec) for name, spec in (own | _of_sections(report)).items()}


def drawings(report: RunReport) -> dict[str, str]:
    """Return the drawings that sections bring as SVG themselves; file stem to text."""
    if not len(report.done):
        return {}
    return {
        f"{section.anchor}-drawing-{number}": drawing.svg
        for section in report.sections
        for number, drawing in enumerate(section.drawings, start=1)
    }


def write_figures(drawn: Mapping[str, str], folder: Path) -> list[Path]:
    """Write every figure into a folder, as ``NAME.svg``, and list the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(folder / f"{name}.svg", text) for name, text in drawn.items()]


def draw(spec: Mapping[str, object]) -> str:
    """Draw one Vega-Lite specification as SVG, in the light theme."""
    return vega.svg_of(themed(spec))


def themed(spec: Mapping[str, object]) -> dict[str, object]:
    """Return a whole specification, in the light theme."""
    return {**_shown(spec), "$schema": vega.SCHEMA, "config": config("light")}


def _shown(spec: Mapping[str, object]) -> dict[str, object]:
    """Return the specification without characters that end the drawing program, which levels and labels may hold."""
    return {name: all_visible(part) for name, part in spec.items()}


def _grid(report: RunReport, arrangement: Layout, drawn: Mapping[str, object], name: str) -> dict[str, object]:
    response = RESPONSES[name]
    title = axis_title(response, shown_unit(report, response))
    return grid_of(drawn, title, points(report, arrangement, response))


def _of_sections(report: RunReport) -> dict[str, Mapping[str, object]]:
    return {
        f"{section.anchor}-{number}": figure.spec
        for section in report.sections
        for number, figure in enumerate(section.figures, start=1)
    }


def _written(path: Path, text: str) -> Path:
    with drafted(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path
