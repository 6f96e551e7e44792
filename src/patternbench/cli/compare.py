"""``patternbench compare``: two runs, or a run against its baseline, with intervals and a release gate."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd
from rich.console import Console
from rich.table import Table

from patternbench.analyze.compare.compare_json import comparison_json
from patternbench.analyze.compare.comparison import (
    Comparison,
    ComparisonOptions,
    Difference,
    compare_repeated_runs,
    compare_runs,
    compare_with_baseline,
)
from patternbench.analyze.compare.gate import GateVerdict, if_even, judge, parse_condition, rounds_to_decide
from patternbench.analyze.compare.words import by_chance, change, interval, ranked, sentences
from patternbench.analyze.looks import AS_MEASURED, Looks
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.shown import IF_EVEN
from patternbench.analyze.statements.verdict import Verdict
from patternbench.cli.narrow import fitting
from patternbench.cli.shared import (
    JsonCriteria,
    bad_input_exits,
    by_option,
    factors,
    json_options,
    junit_option,
    level_option,
    looks_options,
    read,
    responses_option,
    tell_pipeline,
    write_page,
)
from patternbench.cli.terminal import PlainConsole
from patternbench.report.pages.two_runs import about, warnings_of
from patternbench.report.pipeline import of_gate
from patternbench.report.sections import predicted
from patternbench.report.sections.criteria import looks_of_run
from patternbench.terms.data_problems import DataError, DataProblem, plural
from patternbench.terms.quantities import p_value, quantity

_ROWS = 20
SPREAD = click.FloatRange(min=0, max=1000)
_COLUMNS = ("scenario", "response", "A", "B", "change", "interval", "p (corrected)", "effect", "verdict")
_IF_WIDE = ("p (corrected)", "effect")
_WIDE = 110
"""The width from which on a table has room for everything; --json always has it."""
UNDECIDED = 3
"""The exit code if the gate can say neither pass nor fail."""
_COLOURS = {Verdict.FAIL: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}


def sides(_: click.Context, __: click.Parameter, text: str | None) -> tuple[Path, ...]:
    """Return the runs of one side: one path, or several between commas; none where there is no second side."""
    if text is None:
        return ()
    return (Path(text),) if Path(text).exists() else tuple(Path(part) for part in text.split(","))


@click.command(epilog="Example: patternbench compare runs/before runs/after --fail-if 'p95 > +10%'")
@click.argument("run_a", callback=sides)
@click.argument("run_b", required=False, callback=sides)
@click.option(
    "--baseline",
    multiple=True,
    metavar="FACTOR=LEVEL",
    help="Compare RUN_A's scenarios with the one of these levels [default without RUN_B: every pattern at none].",
)
@click.option(
    "--fail-if",
    "conditions",
    multiple=True,
    metavar="CONDITION",
    help="Exit with code 1 if the intervals support this, such as 'p95 > +10%', and with code 3 if they can't tell.",
)
@click.option(
    "--run-spread",
    type=SPREAD,
    metavar="PERCENT",
    help="How far runs of the same thing differ (standard deviation), where each side is one run.",
)
@responses_option
@by_option
@looks_options
@level_option
@click.option("--seed", hidden=True, expose_value=False)  # kept for older scripts: nothing is drawn at random any more
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write the comparison as an HTML page.")
@junit_option
@bad_input_exits
def compare(
    *,
    run_a: tuple[Path, ...],
    run_b: tuple[Path, ...],
    run_spread: float | None,
    baseline: tuple[str, ...],
    conditions: tuple[str, ...],
    responses: tuple[str, ...],
    by: tuple[str, ...],
    typical: bool,
    neighbours: bool,
    level: float,
    json: JsonCriteria,
    html: Path | None,
    junit: Path | None,
) -> None:
    """Compare RUN_B with RUN_A scenario by scenario, or RUN_A with its own --baseline.

    Each is the folder of a run, or a CSV or Parquet file with one row per round. Several runs of one side are written
    with commas: A1,A2 B1,B2.
    """
    gates = [parse_condition(text) for text in conditions]
    if junit is not None and not gates:
        raise DataError(DataProblem("there is no verdict to write.", "--junit", "Write --fail-if 'p95 > +10%', too."))
    paths = [side for side in (run_a, run_b) if side]
    tables = [[read(path) for path in side] for side in paths]
    known = factors(*(path for side in paths for path in side))
    looks = max((looks_of_run(path) for side in paths for path in side), default=1)
    each = together(level, looks)
    how = ComparisonOptions(each, by, responses, known, run_spread, Looks(typical, neighbours))
    how = _with_gated(how, [gate.response for gate in gates])
    comparison = _marked(_compared(tables, baseline, how), paths, tables)
    verdicts: Sequence[GateVerdict] = ()
    if gates:
        strict = together(how.level, len({d.scenario for d in comparison.differences}) * len(gates))
        gated = replace(how, level=strict, responses=tuple(dict.fromkeys(gate.response for gate in gates)))
        verdicts = judge(_compared(tables, baseline, gated), gates)
    stated = [*_about(paths), *_looked(looks), *_warned(paths, tables)]
    _show(comparison, verdicts, stated, json, html)
    if verdicts:
        tell_pipeline(" against ".join(str(side[0]) for side in reversed(paths)), of_gate(verdicts), junit)
    sys.exit(_code({verdict.outcome for verdict in verdicts}))


def _code(outcomes: set[str]) -> int:
    return 1 if Verdict.FAIL in outcomes else UNDECIDED if Verdict.INCONCLUSIVE in outcomes else 0


def _about(paths: Sequence[Sequence[Path]]) -> list[str]:
    if len(paths) == 1:
        return [f"Compared within {paths[0][0]}."]
    if all(len(side) == 1 for side in paths):
        return about(paths[0][0], paths[1][0])
    return [f"{name} is {', '.join(map(str, side))}." for name, side in zip("AB", paths, strict=True)]


def _looked(looks: int) -> list[str]:
    """Return what it means for a comparison that its rounds stopped once a choice was known."""
    if looks == 1:
        return []
    return [
        f"Rounds stopped once the choice was known, after one of {looks} looks at most: intervals and words are as "
        "sure as one of them must be."
    ]


def _marked(
    comparison: Comparison, paths: Sequence[Sequence[Path]], tables: Sequence[Sequence[pd.DataFrame]]
) -> Comparison:
    """Return a comparison that notes which of its rounds were simulated."""
    runs = zip((path for side in paths for path in side), (table for side in tables for table in side), strict=True)
    found = [note for path, table in runs for note in predicted.notes(table, str(path))]
    return replace(comparison, notes=(*comparison.notes, *found))


def _warned(paths: Sequence[Sequence[Path]], tables: Sequence[Sequence[pd.DataFrame]]) -> list[str]:
    """Return the warnings of the rounds of all runs, which may explain a difference."""
    runs = zip((path for side in paths for path in side), (table for side in tables for table in side), strict=True)
    return [line for path, table in runs for line in warnings_of(str(path), table)]


def _with_gated(how: ComparisonOptions, gated: Sequence[str]) -> ComparisonOptions:
    """Where responses were named, add those of the gate."""
    return replace(how, responses=tuple(dict.fromkeys((*how.responses, *gated)))) if how.responses else how


def _compared(
    tables: Sequence[Sequence[pd.DataFrame]], baseline: tuple[str, ...], how: ComparisonOptions
) -> Comparison:
    if len(tables) == 1:
        if len(tables[0]) > 1:
            raise DataError(DataProblem("several runs are one side of a comparison.", "", "Give the other side, too."))
        return compare_with_baseline(tables[0][0], baseline, how)
    if baseline:
        raise DataError(
            DataProblem("--baseline compares within one run.", "", "Leave out the second run, or --baseline.")
        )
    if how.looks != AS_MEASURED:
        problem = "--typical and --neighbours look at the rounds of one run."
        raise DataError(DataProblem(problem, "", "Leave out the second run, or these options."))
    if any(len(side) > 1 for side in tables):
        return compare_repeated_runs(tables[0], tables[1], how)
    return compare_runs(tables[0][0], tables[1][0], how)


def _show(
    comparison: Comparison,
    verdicts: Sequence[GateVerdict],
    stated: Sequence[str],
    json: JsonCriteria,
    html: Path | None,
) -> None:
    json.fulfil(lambda: comparison_json(comparison, verdicts))
    if html is not None:
        _write_html(html, comparison, verdicts, stated)
    if not json.printed:
        _print_lines(stated, PlainConsole())
        print_comparison(comparison, verdicts, PlainConsole())


def print_comparison(comparison: Comparison, verdicts: Sequence[GateVerdict], console: Console) -> None:
    """Print what happened to each response in words, the largest differences, the gate and the notes."""
    for response in dict.fromkeys(d.response for d in comparison.differences):
        console.print(response, style="bold")
        _print_lines([f"  - {sentence}" for sentence in sentences(comparison, response)], console)
    _print_table(comparison, console)
    _print_lines([*by_chance(comparison), *(f"! {note.text}" for note in comparison.notes)], console)
    for verdict in verdicts:
        _print_verdict(verdict, console, comparison.two_runs)


def _print_lines(lines: Sequence[str], console: Console) -> None:
    for line in lines:
        console.print(line, highlight=False, markup=False)


def _print_table(comparison: Comparison, console: Console) -> None:
    shown = ranked(comparison.differences)
    table = Table(title=f"B against A, {comparison.level:.0%} intervals", title_justify="left")
    kept = [column for column, name in enumerate(_COLUMNS) if console.width >= _WIDE or name not in _IF_WIDE]
    for name in (_COLUMNS[column] for column in kept):
        table.add_column(name, justify="left" if name in ("scenario", "response", "verdict") else "right")
    for d in shown[:_ROWS]:
        cells = _cells(d)
        table.add_row(*(cells[column] for column in kept))
    console.print(fitting(table, console))
    if len(shown) > _ROWS:
        console.print(f"... and {len(shown) - _ROWS:,} more (--html and --json have all).", highlight=False)


def _cells(d: Difference) -> tuple[str, ...]:
    means = (quantity(d.response, middle, d.unit) for middle in d.centres)
    p = "" if d.p_adjusted is None else p_value(d.p_adjusted)
    return (d.scenario, d.response, *means, change(d), interval(d), p, d.size, d.verdict)


def _print_verdict(verdict: GateVerdict, console: Console, two_runs: bool) -> None:
    text = f"{verdict.outcome.upper()}: {verdict.condition.text} over {plural(verdict.checked, 'scenario')}"
    console.print(text, style=_COLOURS[verdict.outcome])
    for d in verdict.failing:
        console.print(f"  fails at {d.scenario}: {change(d)}, {interval(d)}", highlight=False, markup=False)
    for d in verdict.undecided[:5]:
        more = "" if two_runs else _undecided(d, verdict)
        console.print(f"  inconclusive at {d.scenario}{more}", highlight=False, markup=False)


def _undecided(d: Difference, verdict: GateVerdict) -> str:
    """Return what would decide, and what t alone says: no exit code has the condition that rounds scatter evenly."""
    even, needed = if_even(d, verdict.condition), rounds_to_decide(d, verdict.condition)
    known = "" if even is Verdict.INCONCLUSIVE else f"; {even.upper()} {IF_EVEN}"
    return known + (f"; about {needed} rounds per side would decide" if needed else "")


def _write_html(path: Path, comparison: Comparison, verdicts: Sequence[GateVerdict], stated: Sequence[str]) -> None:
    from patternbench.report.pages.comparison import comparison_html  # noqa: PLC0415 - slow to import

    write_page(path, comparison_html(comparison, verdicts, about=stated))
