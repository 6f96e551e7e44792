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

_SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"


def figures(report: RunReport) -> dict[str, str]:
    """Draw the paper's two figures, the headline responses and those of sections; file stem to SVG text.

    Without the library that draws SVG files, only the sections' own drawings are there.
    """
    if not len(report.done):
        return {}
    return _drawings(report) | (_figures(report) if vega.draws_svg() else {})


def _figures(report: RunReport) -> dict[str, str]:
    arrangement = layout(report)
    drawable = {response.name for response in figure_responses(report)}
    expected = [name for name in dict.fromkeys([*PAPER_FIGURES, *HEADLINES]) if name in drawable]
    drawn = wide_grid(report)
    own = {name: _grid(report, arrangement, drawn, name) for name in expected}
    return own | _of_sections(report)


def write_figures(report: RunReport, folder: Path) -> list[Path]:
    """Write every figure into a folder, as ``NAME.svg``, and list the files."""
    folder.mkdir(parents=True, exist_ok=True)
    return [_written(folder / f"{name}.svg", text) for name, text in figures(report).items()]


def draw(spec: Mapping[str, object]) -> str:
    """Draw one Vega-Lite specification as SVG, in the light theme."""
    themed = {**_shown(spec), "$schema": _SCHEMA, "config": config("light")}
    return vega.svg_of(themed)


def _shown(spec: Mapping[str, object]) -> dict[str, object]:
    """Return the specification without characters that end the drawing program, which levels and labels may hold."""
    return {name: all_visible(part) for name, part in spec.items()}


def _grid(report: RunReport, arrangement: Layout, drawn: Mapping[str, object], name: str) -> str:
    response = RESPONSES[name]
    title = axis_title(response, shown_unit(report, response))
    return draw(grid_of(drawn, title, points(report, arrangement, response)))


def _drawings(report: RunReport) -> dict[str, str]:
    return {
        f"{section.anchor}-drawing-{number}": drawing.svg
        for section in report.sections
        for number, drawing in enumerate(section.drawings, start=1)
    }


def _of_sections(report: RunReport) -> dict[str, str]:
    return {
        f"{section.anchor}-{number}": draw(figure.spec)
        for section in report.sections
        for number, figure in enumerate(section.figures, start=1)
    }


def _written(path: Path, text: str) -> Path:
    with drafted(path) as draft:
        draft.write_text(text, encoding="utf-8")
    return path
