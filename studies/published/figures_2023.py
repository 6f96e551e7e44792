"""Draw the kinds of figures 2 to 12 of the combined-patterns paper from the generated rows.

    python studies/published/figures_2023.py [FOLDER]

Source: A. El Malki and U. Zdun, Combining API Patterns in Microservice Architectures, IEEE ICWS 2023. The rows come
from its printed coefficients (``generate_2023.py``), so the pictures show what its models say, not its measurements:
what no coefficient depends on (the size of a bundle) is flat. `patternbench fit FILE --formula ... --over
FACTOR,FACTOR --html PAGE` draws the same on a page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import generate_2023 as study
import pandas as pd

from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.recommend.recommendation import Criteria, recommend
from patternbench.report.pages.comparison_figures import trade_off_figure
from patternbench.report.pages.model_figures import interaction_figure, models_figure
from patternbench.report.svg import draw

FOLDER = Path(__file__).parents[2] / "docs" / "reproductions" / "elmalki-zdun-2023"
Drawn = Iterator[tuple[str, dict[str, Any]]]


def figures(table: pd.DataFrame, cloud: int) -> Drawn:
    """Draw every figure of one cloud (0 is the private one, 1 AWS), each with its name."""
    suffix = ("", "-aws")[cloud]
    for number, response in ((2 + cloud, "total_time"), (4 + cloud, "failure_rate")):
        models = fit_formulas(table, [text.replace(study.RESPONSES, response) for text in study.FORMULAS]).models
        yield f"figure-{number}", models_figure(models, ("rate_limit", "request_bundle")) or {}
    for numbers, response, factor in study.INTERACTIONS:
        model = fit_formulas(table, [f"{response} ~ {factor} * load_balancing"]).models[0]
        name = f"figure-{numbers[cloud]}" + (suffix if numbers[0] == numbers[1] else "")
        yield name, interaction_figure(model, (factor, "load_balancing")) or {}
    yield f"trade-off{suffix}", trade_off(table)


def trade_off(table: pd.DataFrame) -> dict[str, Any]:
    """Draw both responses of every combination of the three patterns (section VIII-B)."""
    patterns = ("load_balancing", "request_bundle", "rate_limit")
    found = recommend(table, Criteria(("minimise total_time", "minimise failure_rate"), conditions=(), by=patterns))
    return trade_off_figure(found.choices[0], found.conditions) or {}


def main(arguments: list[str]) -> None:
    """Draw all figures of both clouds as SVG."""
    folder = Path(arguments[0]) if arguments else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for cloud, table in enumerate((study.generate(), study.generate_on_aws())):
        for name, spec in figures(table, cloud):
            (folder / f"{name}.svg").write_text(draw(spec), encoding="utf-8")
            print(name)


if __name__ == "__main__":
    main(sys.argv[1:])
