"""What our own insurance measured of bundle, limit and balancing: the page elmalki-zdun-2023.md and its figures.

The optimal region of measured combinations, and which one to choose, are sections IV and VIII-B of the paper.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import pandas as pd
from studies.published.generate_2023 import INTERACTIONS

from patternbench.analyze.models.fit import fit_formulas
from patternbench.analyze.recommend.recommendation import Candidate, Choice, Criteria, recommend
from patternbench.observe.section import Spec
from patternbench.report.pages.comparison_figures import trade_off_figure
from patternbench.report.pages.model_figures import interaction_figure, models_figure, normal_qq
from patternbench.report.svg import draw
from patternbench.terms.quantities import number
from reproductions.drawing import side_by_side
from reproductions.elmalki_zdun_2023 import combined_findings as findings
from reproductions.elmalki_zdun_2023 import combined_models, left_open
from reproductions.elmalki_zdun_2023.combined_rounds import KEPT_COLUMNS, NO_LIMIT, operations_of, rows
from reproductions.markdown import table
from reproductions.pages import Page, Parts, Reader, Tables, rounds_as

FILE = "reproductions/elmalki-zdun-2023.md"
OPERATIONS = "methods"
"""The table of what each operation did in each round; of rounds of before each method."""
OF_MODELS = ((2, "total_time"), (4, "failure_rate"))
SIZE = "bundle_size"
PATTERNS = ["load_balancing", "request_bundle", "rate_limit"]
CHOSEN_BY = ["total_time", "failure_rate", "items_per_s"]
QUESTIONS = {
    "as in the paper: time, then failures": Criteria(
        ("minimise total_time", "minimise failure_rate"), conditions=(), by=tuple(PATTERNS)
    ),
    "items per second, of those that fail at most 1 %": Criteria(
        ("maximise items_per_s", "minimise failure_rate"), ("failure_rate <= 1%",), conditions=(), by=tuple(PATTERNS)
    ),
}


def of_tables(rounds: pd.DataFrame, operations: pd.DataFrame) -> findings.Study:
    """Return the rounds that count, with the operations of each."""
    return findings.Study(rows(rounds), operations)


def parts(kept: Tables) -> Parts:
    """Return the parts of the page, and of the catalogue's pages."""
    study = of_tables(kept["rounds"], kept[OPERATIONS])
    price = f"At {findings.PRICE_PER_CORE_HOUR:g} US$ per core and hour, without a limit"
    own = {
        "sent": findings.operations(study),
        "claims": findings.verdict_table(study),
        **trade_off(study),
        "failures": f"With {study.users} users:\n\n{findings.failures(study)}",
        "costs": f"{price}:\n\n{findings.costs(study)}",
        "models": "\n\n".join(combined_models.printed(study.models)),
        "residuals": combined_models.residual_tests(study.models),
        **left_open.parts(kept),
    }
    return {
        FILE: own,
        "patterns/rate-limit.md": {"limit": findings.of_limit(study)},
        "patterns/load-balancing.md": {"balancing": findings.of_balancing(study)},
        "patterns/combinations.md": {"together": findings.together(study)},
    }


# --- the optimal region, and which combination to choose


def combined(study: findings.Study) -> pd.DataFrame:
    """Return each combination of patterns in each block, as a mean over sizes."""
    own = study.rows[study.rows["users"] == study.users].dropna(subset=CHOSEN_BY)
    return own.groupby([*PATTERNS, "block"])[CHOSEN_BY].mean().reset_index()


def trade_off(study: findings.Study) -> dict[str, str]:
    """Return the choice for each question, and the optimal region, by the names of their marks."""
    averaged = combined(study)
    found = {question: recommend(averaged, criteria).choices[0] for question, criteria in QUESTIONS.items()}
    means = averaged.groupby(PATTERNS)[CHOSEN_BY].mean()
    heads = ["what counts", "configuration", "total time, ms", "failed calls, %", "items per second"]
    lines = (line for question, choice in found.items() for line in _lines(question, choice, means))
    reported = (f"- {question}: {_chosen(choice)}" for question, choice in found.items())
    return {"choice": "\n".join(reported), "region": table(heads, lines)}


def _lines(question: str, choice: Choice, means: pd.DataFrame) -> Iterator[list[str]]:
    """Yield a row for each combination of the optimal region; the choice is printed bold."""
    for one in choice.candidates:
        if one.on_front and one.feasible:
            name = f"**{_named(one)}**" if one is choice.chosen else _named(one)
            yield [question, name, *map(number, means.xs(tuple(one.scenario.levels[name] for name in PATTERNS)))]


def _chosen(choice: Choice) -> str:
    """Return the choice in a sentence; of many that can't be told apart only how many they are."""
    if choice.verdict != "tie" or choice.chosen is None:
        return choice.text
    return f"a tie of {len(choice.ties)} combinations, of which {_named(choice.chosen)} is the choice."


def _named(one: Candidate) -> str:
    balancing, bundle, limit = (one.scenario.levels[name] for name in PATTERNS)
    words = ("bundles" if bundle == "Y" else "single requests", "two instances" if balancing == "Y" else "one instance")
    return ", ".join([*words, "no limit" if limit == NO_LIMIT else f"limit {limit:g}"])


# --- figures


def drawn(study: findings.Study) -> dict[str, str]:
    """Return Figures 2 to 12 as SVG, by their names; the paper's odd twins on AWS have no counterpart here."""
    return {f"measured-{name}.svg": draw(figure) for name, figure in figures(study)}


def figures(study: findings.Study) -> Iterator[tuple[str, Spec]]:
    """Yield what models say over the limit, means over pairs of factors as the paper has them, trade-off, residuals."""
    for number_of, response in OF_MODELS:
        of_response = [one.models[response] for one in study.models.values()]
        yield str(number_of), models_figure(of_response, ("rate_limit", "request_bundle")) or {}
    for (number_of, _), response, factor in INTERACTIONS:
        complete = study.rows.dropna(subset=[response])
        bundled = complete[complete["request_bundle"] == "Y"] if factor == SIZE else complete
        model = fit_formulas(bundled, [f"{response} ~ {factor} * load_balancing"]).models[0]
        yield str(number_of), interaction_figure(model, (factor, "load_balancing")) or {}
    choice = recommend(combined(study), next(iter(QUESTIONS.values()))).choices[0]
    yield "trade-off", trade_off_figure(choice, ()) or {}
    yield "residuals", side_by_side(*(normal_qq(study.models[2].models[response]) for _, response in OF_MODELS))


READERS: Mapping[str, Reader] = {
    "insurance-combined": lambda run: {**rounds_as("rounds", KEPT_COLUMNS)(run), OPERATIONS: operations_of(run)},
    **left_open.READERS,
}
PAGE = Page(FILE, READERS, parts, lambda kept: drawn(of_tables(kept["rounds"], kept[OPERATIONS])))
