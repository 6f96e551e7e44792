"""`patternbench compare`: two runs, or a run against its baseline, with intervals and a release gate."""

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
from patternbench.analyze.compare.comparison import Comparison, Difference, How, compare_runs, compare_with_baseline
from patternbench.analyze.compare.gate import Verdict, judge, parse_condition, rounds_to_decide, simultaneous_level
from patternbench.analyze.compare.words import by_chance, change, interval, ranked, sentences
from patternbench.analyze.models.words import p_value
from patternbench.analyze.problems import DataError, DataProblem
from patternbench.analyze.units import quantity
from patternbench.cli.narrow import fitting
from patternbench.cli.shared import (
    JsonWish,
    bad_input_exits,
    by_option,
    factors,
    json_options,
    level_option,
    read,
    responses_option,
)
from patternbench.cli.terminal import Plain
from patternbench.report.pages.two_runs import about

_ROWS = 20
_COLUMNS = ("scenario", "response", "A", "B", "change", "interval", "p (corrected)", "effect", "verdict")
_IF_WIDE = ("p (corrected)", "effect")
_WIDE = 110
"""The width from which on a table has room for everything; --json always has it."""
_COLOURS = {"fail": "red", "undecided": "yellow", "pass": "green"}


@click.command(epilog="Example: patternbench compare runs/before runs/after --fail-if 'p95 > +10%'")
@click.argument("run_a", type=click.Path(path_type=Path))
@click.argument("run_b", type=click.Path(path_type=Path), required=False)
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
    help="Exit with code 1 if the intervals support this, such as 'p95 > +10%'.",
)
@responses_option
@by_option
@level_option
@click.option("--seed", hidden=True, expose_value=False)  # kept for older scripts: nothing is drawn at random any more
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write the comparison as an HTML page.")
@bad_input_exits
def compare(
    *,
    run_a: Path,
    run_b: Path | None,
    baseline: tuple[str, ...],
    conditions: tuple[str, ...],
    responses: tuple[str, ...],
    by: tuple[str, ...],
    level: float,
    json: JsonWish,
    html: Path | None,
) -> None:
    """Compare RUN_B with RUN_A scenario by scenario, or RUN_A with its own --baseline.

    Each is the folder of a run, or a CSV or Parquet file with one row per round.
    """
    gates = [parse_condition(text) for text in conditions]
    paths = [path for path in (run_a, run_b) if path is not None]
    tables = [read(path) for path in paths]
    how = How(level, by, responses, factors(*paths))
    how = _with_gated(how, [gate.response for gate in gates])
    comparison = _compared(tables, baseline, how)
    verdicts: Sequence[Verdict] = ()
    if gates:
        strict = simultaneous_level(how.level, len({d.scenario for d in comparison.differences}), len(gates))
        gated = replace(how, level=strict, responses=tuple(dict.fromkeys(gate.response for gate in gates)))
        verdicts = judge(_compared(tables, baseline, gated), gates)
    said = about(run_a, run_b) if run_b else [f"Compared within {run_a}."]
    _show(comparison, verdicts, said, json, html)
    sys.exit(1 if any(v.outcome == "fail" for v in verdicts) else 0)


def _with_gated(how: How, gated: Sequence[str]) -> How:
    """Where responses were named, add those of the gate."""
    return replace(how, responses=tuple(dict.fromkeys((*how.responses, *gated)))) if how.responses else how


def _compared(tables: Sequence[pd.DataFrame], baseline: tuple[str, ...], how: How) -> Comparison:
    if len(tables) == 1:
        return compare_with_baseline(tables[0], baseline, how)
    if baseline:
        raise DataError(
            DataProblem("--baseline compares within one run.", "", "Leave out the second run, or --baseline.")
        )
    return compare_runs(tables[0], tables[1], how)


def _show(
    comparison: Comparison, verdicts: Sequence[Verdict], said: Sequence[str], json: JsonWish, html: Path | None
) -> None:
    json.fulfil(lambda: comparison_json(comparison, verdicts))
    if html is not None:
        _write_html(html, comparison, verdicts, said)
    if not json.printed:
        _print_lines(said, Plain())
        print_comparison(comparison, verdicts, Plain())


def print_comparison(comparison: Comparison, verdicts: Sequence[Verdict], console: Console) -> None:
    """Print what happened to each response in words, the largest differences, the gate and the notes."""
    for response in dict.fromkeys(d.response for d in comparison.differences):
        console.print(response, style="bold")
        _print_lines([f"  - {sentence}" for sentence in sentences(comparison, response)], console)
    _print_table(comparison, console)
    _print_lines([*by_chance(comparison), *(f"! {note.text}" for note in comparison.notes)], console)
    for verdict in verdicts:
        _print_verdict(verdict, console)


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


def _print_verdict(verdict: Verdict, console: Console) -> None:
    text = f"{verdict.outcome.upper()}: {verdict.condition.text} over {verdict.checked} scenarios"
    console.print(text, style=_COLOURS[verdict.outcome])
    for d in verdict.failing:
        console.print(f"  fails at {d.scenario}: {change(d)}, {interval(d)}", highlight=False, markup=False)
    for d in verdict.undecided[:5]:
        needed = rounds_to_decide(d, verdict.condition)
        more = f"; about {needed} rounds per run would decide" if needed else ""
        console.print(f"  undecided at {d.scenario}{more}", highlight=False, markup=False)


def _write_html(path: Path, comparison: Comparison, verdicts: Sequence[Verdict], said: Sequence[str]) -> None:
    from patternbench.report.pages.comparison import comparison_html  # noqa: PLC0415 - slow to import

    path.write_text(comparison_html(comparison, verdicts, about=said), encoding="utf-8")
