"""``patternbench fit``: models of a table, with everything needed to trust them, or not to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from patternbench.analyze.blocks import in_blocks
from patternbench.analyze.models.by_blocks import estimates as estimates_of
from patternbench.analyze.models.fit import Analysis, ModelResult, MultivariateResult, Settings, fit_formulas
from patternbench.analyze.models.fit_json import analysis_json
from patternbench.analyze.models.inference import Coefficient
from patternbench.analyze.models.words import effects, headline, preferred, statistics, summary_line, warnings
from patternbench.cli.shared import (
    JsonCriteria,
    bad_input_exits,
    factors,
    json_options,
    level_option,
    names_of,
    read,
    seed_option,
    write_page,
)
from patternbench.cli.terminal import PlainConsole
from patternbench.records.tables import read_in_blocks
from patternbench.terms.data_problems import DataProblem, did_you_mean, gathered, plural, raise_if_any
from patternbench.terms.quantities import number, p_value
from patternbench.terms.sealed import sealed


@click.command(epilog="Example: patternbench fit runs/first --formula 'p95 ~ users + C(strategy)'")
@click.argument("data", type=click.Path(path_type=Path))
@click.option(
    "--formula",
    "formulas",
    multiple=True,
    required=True,
    help="Such as 'p95 + failure_rate ~ users + C(strategy)'. May be repeated.",
)
@click.option(
    "--group",
    help=(
        "Column whose levels get a random effect if their rows resemble each other [default: block, if there is one]."
    ),
)
@click.option(
    "--scenario",
    help="Column with the scenario, for cross-validation [default: scenario, or the factors' values without it].",
)
@click.option(
    "--margin",
    type=click.FloatRange(0, 100, min_open=True),
    metavar="PERCENT",
    help="Report a factor whose effect is surely smaller than this share of the response's mean.",
)
@level_option
@seed_option
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write the models as an HTML page.")
@click.option(
    "--over",
    callback=names_of,
    multiple=True,
    metavar="FACTOR,FACTOR",
    help="Two factors for the page's interaction figures [default: the two with the largest effects].",
)
@click.option(
    "--estimates",
    is_flag=True,
    help=(
        "Only estimates with their intervals, by blocks of rows, of a table of any size: no look at single rows, no "
        "tests, no page. A Parquet file is never in memory as a whole."
    ),
)
@bad_input_exits
def fit(
    *,
    data: Path,
    formulas: tuple[str, ...],
    group: str | None,
    scenario: str | None,
    margin: float | None,
    level: float,
    seed: int,
    json: JsonCriteria,
    html: Path | None,
    over: tuple[str, ...],
    estimates: bool,
) -> None:
    """Fit linear models to DATA (a run folder, CSV or Parquet) and diagnose them.

    Several responses, joined by + on the left of ~, are also analysed together (MANOVA).
    """
    if estimates:
        others = {"--html": html, "--over": over, "--group": group, "--scenario": scenario, "--margin": margin}
        _only_estimates(json, others)
        _print_estimates(data, formulas, level)
        return
    table = read(data)
    settings = Settings(group=group, scenario=scenario, margin=margin, level=level, seed=seed, factors=factors(data))
    analysis = fit_formulas(table, formulas, settings)
    _known_factors(over, analysis)
    json.fulfil(lambda: sealed(analysis_json(analysis)))
    if html is not None:
        _write_html(html, analysis, data, over)
    if not json.printed:
        print_analysis(analysis, PlainConsole())


def _only_estimates(json: JsonCriteria, others: Mapping[str, object]) -> None:
    """Refuse what needs more than estimates."""
    asked = {"--json": json.printed, "--save": json.file, **others}
    problems = [
        DataProblem("needs a look at each row.", name, "Leave out --estimates.") for name in asked if asked[name]
    ]
    raise_if_any(problems)


def _print_estimates(data: Path, formulas: Sequence[str], level: float) -> None:
    table, known, console = in_blocks(read_in_blocks(data) or read(data)), factors(data), PlainConsole()
    found = gathered(*(partial(estimates_of, table, formula, level, known) for formula in formulas))
    for one in (response for responses in found for response in responses):
        console.print(Text.assemble("\n", (one.response, "bold"), f" in {one.formula}"))
        console.print(_coefficient_table(one.coefficients, "least squares"))
        if one.references:
            references = (f"{name} = {known.text(name, first)}" for name, first in one.references.items())
            console.print(f"Compared with {', '.join(references)}.", highlight=False, markup=False)
        console.print(summary_line(one.summary), highlight=False)
        for note in one.notes:
            console.print(f"  ! {note.text}", highlight=False, markup=False)


def _known_factors(over: tuple[str, ...], analysis: Analysis) -> None:
    names = list(dict.fromkeys(name for model in analysis.models for name in model.fit.design.parsed.right))
    wrong = [name for name in over if name not in names]
    problems = [DataProblem(f"no formula contains {name}.", "--over", did_you_mean(name, names)) for name in wrong]
    if len(over) not in (0, 2) and not wrong:
        problems.append(
            DataProblem(f"names {plural(len(over), 'factor')}.", "--over", "Write two: --over users,strategy.")
        )
    raise_if_any(problems)


def _write_html(path: Path, analysis: Analysis, data: Path, over: tuple[str, ...]) -> None:
    from patternbench.report.pages.models import models_html  # noqa: PLC0415 - drawing is slow to import and rarely asked for

    write_page(path, models_html(analysis, title=f"Models of {data.name}", over=over))


def print_analysis(analysis: Analysis, console: Console) -> None:
    """Print each model: its effects in words, its coefficients, then its warnings."""
    for model in analysis.models:
        _print_model(model, console)
    for together in analysis.multivariate:
        _print_multivariate(together, console)


def _print_model(model: ModelResult, console: Console) -> None:
    console.print(Text.assemble("\n", (model.fit.response, "bold"), f" in {model.fit.design.parsed.text}"))
    console.print(headline(model), highlight=False)
    for effect in effects(model):
        console.print(f"  - {effect.sentence}", highlight=False, markup=False)
    console.print(_coefficient_table(*preferred(model)))
    console.print(statistics(model), highlight=False)
    for test in model.tests:
        console.print(
            f"  {test.name}: {test.note if test.p is None else f'p {p_value(test.p)}. {test.note}'}",
            highlight=False,
            markup=False,
        )
    for warning in warnings(model):
        console.print(f"  ! {warning}", highlight=False, markup=False)


def _coefficient_table(coefficients: Sequence[Coefficient], kind: str) -> Table:
    table = Table(title=f"Coefficients ({kind})", title_justify="left")
    for name in ("term", "estimate", "std. error", "from", "to", "t", "p", "VIF"):
        table.add_column(name, justify="left" if name == "term" else "right")
    for c in coefficients:
        cells = (c.estimate, c.std_error, c.ci_low, c.ci_high, c.t)
        table.add_row(
            c.name,
            *(number(v) for v in cells),
            p_value(c.p),
            "" if c.vif is None else number(c.vif),
        )
    return table


def _print_multivariate(result: MultivariateResult, console: Console) -> None:
    table = Table(title=f"Together: {', '.join(result.design.responses)}", title_justify="left")
    for name in ("term", "Pillai", "Wilks", "Hotelling-Lawley", "Roy", "p (Pillai)"):
        table.add_column(name, justify="left" if name == "term" else "right")
    for test in (t for t in result.tests if t.kind == "marginal"):
        values = (number(test.statistics[k].value) for k in ("pillai", "wilks", "hotelling_lawley", "roy"))
        table.add_row(test.term, *values, p_value(test.statistics["pillai"].p))
    console.print(table)
    console.print(result.recommended, highlight=False)
