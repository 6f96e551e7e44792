"""What our own insurance measured of bundle, limit and balancing: the page elmalki-zdun-2023.md and its figures."""

from __future__ import annotations

from collections.abc import Iterator

import pandas as pd
from studies.published.generate_2023 import INTERACTIONS

from patternbench.analyze.models.fit import fit_formulas
from patternbench.observe.section import Spec
from patternbench.records.folder import RunFolder
from patternbench.report.pages.model_figures import interaction_figure, models_figure, normal_qq
from patternbench.report.svg import draw
from reproductions.elmalki_zdun_2021.bundle_figures import side_by_side
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023 import combined_models, left_open, trade_off
from reproductions.elmalki_zdun_2023.combined_published import PRICE_PER_CORE_HOUR
from reproductions.elmalki_zdun_2023.combined_rounds import KEPT_COLUMNS, operations_of, rows
from reproductions.pages import Page, Parts, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2023.md"
OPERATIONS = "methods"
"""The table of what each operation did in each round; of rounds of before each method."""
OF_MODELS = ((2, "total_time"), (4, "failure_rate"))
SIZE = "bundle_size"


def kept_of(run: RunFolder) -> dict[str, pd.DataFrame | str]:
    """Return the rounds of a run, and the calls of each operation in them."""
    return {**rounds_as("rounds", KEPT_COLUMNS)(run), OPERATIONS: operations_of(run)}


def of_tables(rounds: pd.DataFrame, operations: pd.DataFrame) -> findings.Study:
    """Return the rounds that count, with the operations of each."""
    return findings.Study(rows(rounds).merge(rounds[["round", "warnings"]], on="round"), operations)


def measured(study: findings.Study) -> dict[str, str]:
    """Return everything that was measured, by the names of its marks."""
    price = f"At {PRICE_PER_CORE_HOUR:g} US$ per core and hour, without a limit"
    return {
        "sent": findings.operations(study),
        "claims": findings.verdict_table(study),
        **trade_off.printed(study.rows, study.users),
        "failures": f"With {study.users} users:\n\n{findings.failures(study)}",
        "costs": f"{price}:\n\n{findings.costs(study)}",
        "models": combined_models.printed(study.models),
        "residuals": combined_models.residual_tests(study.models),
    }


def parts(kept: Tables) -> Parts:
    """Return the parts of the page, and of the catalogue's pages."""
    study = of_tables(kept["rounds"], kept[OPERATIONS])
    return {
        FILE: {**measured(study), **left_open.parts(kept)},
        "patterns/rate-limit.md": {"limit": findings.of_limit(study)},
        "patterns/load-balancing.md": {"balancing": findings.of_balancing(study)},
        "patterns/combinations.md": {"together": findings.together(study)},
    }


def drawn(study: findings.Study) -> dict[str, str]:
    """Return Figures 2 to 12 as SVG, by their names; the paper's odd twins on AWS have no counterpart here."""
    return {f"measured-{name}.svg": draw(figure) for name, figure in figures(study)}


def figures(study: findings.Study) -> Iterator[tuple[str, Spec]]:
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


READERS = {"insurance-combined": kept_of, **left_open.READERS}
PAGE = Page(FILE, READERS, parts, lambda kept: drawn(of_tables(kept["rounds"], kept[OPERATIONS])))
