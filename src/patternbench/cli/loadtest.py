"""`patternbench loadtest`: smoothing, status codes, linearity and knee of a request log."""

from __future__ import annotations

from pathlib import Path

import click
from rich.table import Table

from patternbench.analyze.load.loadtest import Columns, LoadTest, analyze_load_test, in_words
from patternbench.analyze.models.fit_json import notes_json, plain
from patternbench.analyze.units import number
from patternbench.cli.shared import JsonWish, bad_input_exits, console, json_options, seed_option
from patternbench.records.tables import read_table

FORMAT = "patternbench/loadtest/1"
_JMETER = Columns()


@click.command(epilog="Example: patternbench loadtest results.csv --load allThreads")
@click.argument("data", type=click.Path(path_type=Path))
@click.option("--load", default=_JMETER.load, show_default=True, help="Column of the load level.")
@click.option("--time", default=_JMETER.time, show_default=True, help="Column of the time of sending.")
@click.option("--response", default=_JMETER.response, show_default=True, help="Column of the response time.")
@click.option("--status", default=_JMETER.status, show_default=True, help="Column of the status code.")
@click.option(
    "--window",
    type=click.IntRange(min=5),
    help="Requests per smoothing window [default: a twentieth, at most 10,000].",
)
@seed_option
@json_options
@click.option("--html", type=click.Path(path_type=Path), help="Write a readable page.")
@bad_input_exits
def loadtest(
    *,
    data: Path,
    load: str,
    time: str,
    response: str,
    status: str,
    window: int | None,
    seed: int,
    json: JsonWish,
    html: Path | None,
) -> None:
    """Analyze DATA, a log with one row a request (a JMeter result file, or any CSV or Parquet)."""
    columns = Columns(load=load, time=time, response=response, status=status)
    load_test = analyze_load_test(read_table(data), columns, window, seed)
    json.fulfil(lambda: loadtest_json(load_test))
    if html is not None:
        _write_html(html, load_test)
    if not json.printed:
        _print(load_test)


def _write_html(path: Path, load_test: LoadTest) -> None:
    from patternbench.report.pages.load_test import load_test_html  # noqa: PLC0415 - slow to import

    path.write_text(load_test_html(load_test), encoding="utf-8")


def loadtest_json(load_test: LoadTest) -> dict[str, object]:
    """Lay out a load test (keys: docs/analysis.md)."""
    return plain(
        {
            "format": FORMAT,
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


def _print(load_test: LoadTest) -> None:
    for sentence in (*in_words(load_test), *(f"! {note.text}" for note in load_test.notes)):
        console().print(sentence, highlight=False, markup=False)
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
    console().print(table)
