"""``patternbench recommend``: the configuration to choose, how sure that is, and where the choice flips."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from patternbench.analyze.looks import Looks
from patternbench.analyze.recommend.recommend_json import recommendation_json
from patternbench.analyze.recommend.recommendation import Choice, Criteria, Recommendation, flips_in_words
from patternbench.analyze.recommend.recommendation import recommend as choose
from patternbench.cli.shared import (
    JsonCriteria,
    bad_input_exits,
    by_option,
    factors,
    json_options,
    level_option,
    looks_options,
    names_of,
    read,
    seed_option,
    write_page,
)
from patternbench.cli.terminal import PlainConsole
from patternbench.report.sections import predicted
from patternbench.report.sections.construction import requested_of, with_notes
from patternbench.report.sections.criteria import criteria_of_run

MARGIN = click.FloatRange(min=0, min_open=True, max=1000)


@click.command(epilog="Example: patternbench recommend runs/first --objective 'minimise p95'")
@click.argument("run", type=click.Path(path_type=Path))
@click.option(
    "--objective",
    "objectives",
    multiple=True,
    help="Such as 'minimise p95'. The first decides; all span the Pareto front [default: the run's own].",
)
@click.option("--subject-to", "limits", multiple=True, help="Such as 'failure_rate <= 1%' or 'p99 <= 200ms'.")
@click.option(
    "--given",
    "conditions",
    callback=names_of,
    multiple=True,
    metavar="FACTORS",
    help="Factors that you can't choose: one recommendation per condition [default: all but patterns].",
)
@click.option("--baseline", multiple=True, metavar="FACTOR=LEVEL", help="Configuration to compare the choice with.")
@click.option(
    "--margin",
    type=MARGIN,
    metavar="PERCENT",
    help="How much worse than the best is good enough, said of a tie that shows it [default: the run's own, or 5].",
)
@by_option
@looks_options
@level_option
@seed_option
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write the recommendation as an HTML page.")
@bad_input_exits
def recommend(
    *,
    run: Path,
    objectives: tuple[str, ...],
    limits: tuple[str, ...],
    conditions: tuple[str, ...],
    baseline: tuple[str, ...],
    margin: float | None,
    by: tuple[str, ...],
    typical: bool,
    neighbours: bool,
    level: float,
    seed: int,
    json: JsonCriteria,
    html: Path | None,
) -> None:
    """Recommend a configuration from RUN, the folder of a run, or a CSV or Parquet file with one row per round."""
    table = read(run)
    stated = requested(run, table.columns, objectives, limits, by)
    rule, otherwise = stated.stopped_by, any((objectives, limits, conditions, baseline, by, typical, neighbours))
    criteria = replace(
        stated,
        stopped_by=rule.for_another_question() if rule and otherwise else rule,
        conditions=conditions or None,
        baseline=baseline,
        margin=stated.margin if margin is None else margin,
        seed=seed,
        level=level,
        factors=factors(run),
        looks=Looks(typical, neighbours),
    )
    found = choose(table, criteria)
    predicted.check(run, table, requested_of(found))
    recommendation = with_notes(found, table)
    json.fulfil(lambda: recommendation_json(recommendation))
    if html is not None:
        _write_html(html, recommendation, run)
    if not json.printed:
        print_recommendation(recommendation, PlainConsole())


def requested(
    run: Path, columns: Iterable[str], objectives: tuple[str, ...], limits: tuple[str, ...], by: tuple[str, ...]
) -> Criteria:
    """Return the criteria of the command line, completed by those of the run's report."""
    of_run = criteria_of_run(run, columns)
    if of_run is None and not objectives:
        raise click.UsageError("say what to optimise, such as --objective 'minimise p95'")
    stated = of_run or Criteria(objectives)
    if objectives:
        return replace(stated, objectives=objectives, limits=limits, by=by or stated.by)
    return replace(stated, limits=limits or stated.limits, by=by or stated.by)


def _write_html(path: Path, recommendation: Recommendation, run: Path) -> None:
    from patternbench.report.pages.comparison import recommendation_html  # noqa: PLC0415 - slow to import
    from patternbench.report.pages.provenance import made_from  # noqa: PLC0415 - only for a page

    write_page(path, recommendation_html(recommendation, about=made_from(run)))


def print_recommendation(recommendation: Recommendation, console: Console) -> None:
    """Print the choice under each condition, its cost, and where it flips."""
    limits = f", subject to {' and '.join(one.text for one in recommendation.limits)}" if recommendation.limits else ""
    console.print(f"To {recommendation.objectives[0].words}{limits}:", highlight=False, markup=False)
    for choice in recommendation.choices:
        _print_choice(choice, recommendation.quantity, console)
    for sentence in flips_in_words(recommendation.flips):
        console.print(f"  {sentence}", highlight=False, markup=False)
    for note in recommendation.notes:
        console.print(f"  ! {note.text}", highlight=False, markup=False)


def _print_choice(choice: Choice, quantity: Callable[[str, float], str], console: Console) -> None:
    console.print(f"- {choice.text}", highlight=False, markup=False)
    if choice.chosen is not None:
        means = ", ".join(f"{name} {quantity(name, value)}" for name, value in choice.chosen.means.items())
        console.print(f"    {means}", highlight=False, markup=False)
    if choice.against_baseline:
        reported = "; ".join(one.words for one in choice.against_baseline)
        console.print(f"    against {choice.against_baseline[0].baseline}: {reported}", highlight=False, markup=False)
    front = [c for c in choice.candidates if c.on_front and c is not choice.chosen]
    if front:
        console.print(f"    also on the Pareto front: {len(front)} (--json has them)", highlight=False, markup=False)
