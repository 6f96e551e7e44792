"""``patternbench loadtest``: smoothing, status codes, linearity and knee of a request log, or of a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from rich.table import Table

from patternbench.analyze.load.columns import Columns
from patternbench.analyze.load.loadtest import LoadTest, analyze_load_test, in_words
from patternbench.analyze.plain_json import notes_json, plain
from patternbench.analyze.rounds import label
from patternbench.cli.shared import (
    JsonCriteria,
    bad_input_exits,
    json_options,
    read,
    seed_option,
    tell_damage,
    write_page,
)
from patternbench.cli.terminal import PlainConsole
from patternbench.plan.factors import Level
from patternbench.records.folder import RunFolder
from patternbench.report import load_tests
from patternbench.terms.quantities import number

FORMAT = "patternbench/loadtest/1"
_JMETER = Columns()


@dataclass(frozen=True)
class ConditionLoadTest:
    """A load test of a run: the levels of the factors other than the load."""

    at: dict[str, Level]
    load_test: LoadTest


@click.command(epilog="Example: patternbench loadtest results.csv --load allThreads")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--load", help=f"Column of the load [default: {_JMETER.load}]; for a run, the factor that is the load.")
@click.option("--time", default=_JMETER.time, show_default=True, help="Column of the send time.")
@click.option("--response", default=_JMETER.response, show_default=True, help="Column of the response time.")
@click.option("--status", default=_JMETER.status, show_default=True, help="Column of the status code.")
@click.option(
    "--unit",
    type=click.Choice(["request", "journey"]),
    default="request",
    show_default=True,
    help="For a run: what counts as one request.",
)
@click.option(
    "--window",
    type=click.IntRange(min=5),
    help="Requests per smoothing window [default: a twentieth of all, at most 10,000].",
)
@seed_option
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write the load test as an HTML page.")
@bad_input_exits
def loadtest(
    *,
    data: Path,
    load: str | None,
    time: str,
    response: str,
    status: str,
    unit: load_tests.Unit,
    window: int | None,
    seed: int,
    json: JsonCriteria,
    html: Path | None,
) -> None:
    """Analyse a load test. DATA is the folder of a run, or a log with one row per request.

    A log is a JMeter result file, or any other CSV or Parquet file.

    In a run each attempt counts as a request, and the load is its one factor with the role load, or the factor that
    --load names. With --unit journey each journey counts as one request. Each combination of the other factors' levels
    is its own load test.
    """
    if data.is_dir():
        tests = _of_run(data, load, unit, window, seed)
        json.fulfil(lambda: loadtests_json(tests))
    else:
        columns = Columns(load=load or _JMETER.load, time=time, response=response, status=status)
        tests = [ConditionLoadTest({}, analyze_load_test(read(data), columns, window, seed))]
        json.fulfil(lambda: {"format": FORMAT, **loadtest_json(tests[0].load_test)})
    if html is not None:
        _write_html(html, tests, data)
    if not json.printed:
        for one in tests:
            _print(one)


def _of_run(
    folder: Path, load: str | None, unit: load_tests.Unit, window: int | None, seed: int
) -> list[ConditionLoadTest]:
    run = RunFolder(folder)
    run.check()
    tell_damage(run)
    parts = load_tests.requests_of(run, load, unit)
    columns = load_tests.COLUMNS
    return [
        ConditionLoadTest(dict(part.levels), analyze_load_test(part.requests, columns, window, seed)) for part in parts
    ]


def _write_html(path: Path, tests: Sequence[ConditionLoadTest], data: Path) -> None:
    from patternbench.report.pages.load_test import load_tests_html  # noqa: PLC0415 - slow to import
    from patternbench.report.pages.provenance import made_from  # noqa: PLC0415 - only for a page

    named = {label(one.at) if one.at else "": one.load_test for one in tests}
    write_page(path, load_tests_html(named, about=made_from(data)))


def loadtests_json(tests: Sequence[ConditionLoadTest]) -> dict[str, object]:
    """Lay out the load tests of a run (keys: docs/analysis.md)."""
    laid_out = [{"at": one.at, **loadtest_json(one.load_test)} for one in tests]
    return plain({"format": FORMAT, "tests": laid_out})


def loadtest_json(load_test: LoadTest) -> dict[str, object]:
    """Lay out a load test (keys: docs/analysis.md)."""
    return plain(
        {
            "in_words": list(in_words(load_test)),
            "levels": load_test.levels.to_dict("records"),
            "status_percent": {f"{load:g}": dict(row) for load, row in load_test.shares.iterrows()},
            "linearity": None if load_test.linearity is None else vars(load_test.linearity),
            "knee": vars(load_test.knee),
            "smoothed": [
                {
                    "load": s.load,
                    "window": s.window,
                    "note": s.note,
                    "times": s.times.tolist(),
                    "values": s.values.tolist(),
                }
                for s in load_test.smoothed
            ],
            "notes": notes_json(load_test.notes),
        }
    )


def _print(one: ConditionLoadTest) -> None:
    load_test = one.load_test
    if one.at:
        PlainConsole().print(f"\n{label(one.at)}", highlight=False, markup=False)
    for sentence in (*in_words(load_test), *(f"! {note.text}" for note in load_test.notes)):
        PlainConsole().print(sentence, highlight=False, markup=False)
    table = Table()
    statuses = [str(name) for name in load_test.shares.columns]
    for name in ("load", "requests", "mean", "median", "p95", *(f"{status} %" for status in statuses)):
        table.add_column(name, justify="right")
    for _, row in load_test.levels.iterrows():
        cells = (
            row["load"],
            row["requests"],
            row["mean"],
            row["median"],
            row["p95"],
            *load_test.shares.loc[row["load"]],
        )
        table.add_row(*(number(float(v)) for v in cells))
    PlainConsole().print(table)
