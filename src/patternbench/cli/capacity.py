"""``patternbench capacity``: the rate that a service takes within an objective, with its interval."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import click
import pandas as pd
from rich.table import Table

from patternbench import __version__
from patternbench.analyze.load.rate_search import (
    Capacity,
    Limits,
    RateObjective,
    RateStep,
    evidence,
    knee,
    parse_objective,
)
from patternbench.analyze.load.rate_search import capacity as estimate
from patternbench.cli import output
from patternbench.cli.execution import carry_out
from patternbench.cli.parameter_types import DurationType, RateType
from patternbench.cli.shared import BAD_INPUT, quick_option, write_page
from patternbench.cli.terminal import PlainConsole
from patternbench.drivers.driver import DriverError
from patternbench.drivers.engine import JobError, as_problem
from patternbench.lab import machine
from patternbench.records.outputs import check_outputs
from patternbench.report import vega
from patternbench.run import prepared_run
from patternbench.run.single.rate_rounds import RateFixture, RateRound, driven, of_url, rate_fixture
from patternbench.run.single.recovery_study import Trigger, study_of
from patternbench.study.boundary import MOST_ROUNDS
from patternbench.study.load import StudyFile
from patternbench.terms.data_problems import DataError
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.quantities import number, quantity
from patternbench.terms.units import Duration

DONE, NOT_FOUND = 0, 1
COLUMNS = ("rate", "rounds", "missed", "p50", "p95")
RUNS = Path("runs")


@click.command(epilog="Example: patternbench capacity http://127.0.0.1:8080/ --objective 'p95<=1s'")
@click.argument("subject", metavar="STUDY|URL")
@click.option("--objective", "text", help="Such as 'p95 <= 100ms'. Failed calls miss it.")
@click.option(
    "--recovers-from",
    "trigger",
    metavar="FAULT",
    help="Find the load from which the service comes back after a fault, such as 'freeze 2s'.",
)
@click.option("--at", type=RateType(), help="With --recovers-from: how long may the fault last at this load?")
@click.option("--out", type=click.Path(path_type=Path), help="With --recovers-from: the folder of the run.")
@click.option("--start", type=RateType(), default=10.0, show_default=True, help="First rate, in calls per second.")
@click.option("--most", type=RateType(), default=20_000.0, show_default=True, help="Highest rate to try.")
@click.option("--duration", type=DurationType(), default="5s", show_default=True, help="Length of a round.")
@click.option("--rounds", type=click.IntRange(2, 100), default=5, show_default=True, help="Rounds per rate at the end.")
@click.option("--svg", type=click.Path(path_type=Path), help="Write a figure: the share of calls that missed, by rate.")
@click.option("--html", type=click.Path(path_type=Path), help="Write the answer, its figure and every rate as a page.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "json_", is_flag=True, help="Print the answer and every round as one JSON object.")
@quick_option
def capacity(
    *,
    subject: str,
    text: str | None,
    trigger: str | None,
    at: float | None,
    out: Path | None,
    start: float,
    most: float,
    duration: Duration,
    rounds: int,
    svg: Path | None,
    html: Path | None,
    force: bool,
    json_: bool,
    quick: bool,
) -> int:
    """Find the highest rate at which a service keeps an objective.

    Give a URL, or a STUDY with an open workload and one scenario. The rate doubles until a round misses the objective.
    Then the gap is halved, and rounds are repeated around the answer. The load is real: use it only on services that
    you may load.

    With --recovers-from each round has a fault that ends. The answer is the load up to which the service recovers, as a
    share of its capacity; with --at it is how long the fault may last at that load. It is a run with a report.

    Exit code 1: no answer with an interval, because the objective is missed at every rate or still kept at --most, or
    because the rounds differ too much.
    """
    if not duration.us:
        raise click.BadParameter("is 0; write for example 5s", param_hint="--duration")
    if trigger is not None:
        return recovers_from(_study(subject, quick), trigger, text, at=at, out=out, json_=json_)
    text = _required(text, at, out)
    vega.check_svg(svg)
    check_outputs([path for path in (svg, html) if path], [Path(subject)], force)
    try:
        objective, limits = parse_objective(text), Limits(start=start, most=most, rounds=rounds)
        with of_the_url(subject), rate_fixture(_study(subject, quick), duration, objective) as up:
            made = drive(up, limits, objective, quiet=json_)
    except JobError as error:
        raise InputError(
            [as_problem(one, "URL" if "://" in subject else "workload") for one in error.problems]
        ) from None
    except (DataError, DriverError) as error:
        raise click.ClickException(str(error)) from None
    answer = estimate(evidence([one.step for one in made], limits), objective)
    tell(made, answer, objective, limits, json_)
    if html:
        _write_html(html, subject, made, answer=answer, objective=objective, limits=limits)
    if svg and not drawn(svg, [one.step for one in made], answer, objective):
        return BAD_INPUT
    return DONE if answer.low is not None else NOT_FOUND


def recovers_from(
    file: StudyFile, trigger: str, objective: str | None, *, at: float | None, out: Path | None, json_: bool
) -> int:
    """Search the load from which a service recovers, or how long a fault may last: a run of a study made for it."""
    with of_the_url(file.file):
        study = study_of(file, Trigger.parse(trigger), objective, at, MOST_ROUNDS)
        folder = out or RUNS / f"recovers-{time.strftime('%Y%m%d-%H%M%S')}"
        prepared = prepared_run.begin(study, folder, skip_unavailable=False, numbered=out is None)
    return carry_out(prepared, json_)


def _required(text: str | None, at: float | None, out: Path | None) -> str:
    """Return the objective, which only the search after a fault can do without, and alone has the other options."""
    if at is not None or out is not None:
        raise click.UsageError("--at and --out go with --recovers-from")
    if text is None:
        raise click.UsageError("Missing option '--objective'.")
    return text


def _study(subject: str, quick: bool) -> StudyFile:
    return of_url(subject) if "://" in subject else StudyFile.read(subject, quick)


@contextmanager
def of_the_url(subject: str) -> Iterator[None]:
    """Report problems of a URL as such: its user never saw the study that we made of it."""
    try:
        yield
    except InputError as error:
        raise InputError(
            [_of_the_url(one) if one.file == subject and "://" in subject else one for one in error.problems]
        ) from None


def _of_the_url(problem: Problem) -> Problem:
    return replace(problem, path="URL", file="", line=None, hint=re.sub("`urls.*`", "the URL", problem.hint))


def drawn(svg: Path, steps: list[RateStep], answer: Capacity, objective: RateObjective) -> bool:
    """Draw the figure, and return whether it could be written. The answer was printed before."""
    from patternbench.report.figures.capacity_figure import write_svg  # noqa: PLC0415 - slow to import

    try:
        write_svg(svg, steps, answer, objective)
    except InputError as error:
        output.complain(error, as_data=False)
        return False
    return True


def _write_html(
    path: Path, subject: str, driven: list[RateRound], *, answer: Capacity, objective: RateObjective, limits: Limits
) -> None:
    from patternbench.report.pages.capacity import capacity_html  # noqa: PLC0415 - slow to import
    from patternbench.report.pages.provenance import measured_here  # noqa: PLC0415 - only for a page

    steps, warnings = [one.step for one in driven], list(dict.fromkeys(one.doubt for one in driven if one.doubt))
    said = [in_words(driven, answer, objective, limits)]
    rates = pd.DataFrame([dict(zip(COLUMNS, row, strict=True)) for row in _rows(driven)])
    about = [measured_here(len(steps), __version__, machine.facts())]
    page = capacity_html(
        subject, said, rates, steps=steps, found=answer, objective=objective, warnings=warnings, about=about
    )
    write_page(path, page)


def drive(up: RateFixture, limits: Limits, objective: RateObjective, quiet: bool) -> list[RateRound]:
    """Measure the rates that the search asks for. A round without a result is repeated once."""
    return driven(up, objective, limits, (lambda _: None) if quiet else _shown)


def _shown(one: RateRound) -> None:
    """Say on standard error what came of a round."""
    click.echo(f"{number(one.step.rate):>8}/s  missed {100 * one.step.share:6.2f} %", err=True)


def tell(driven: list[RateRound], answer: Capacity, objective: RateObjective, limits: Limits, json_: bool) -> None:
    """Print the answer, the knee and every rate; warnings go to standard error."""
    failed = [one for one in driven if one.doubt]
    if failed:
        output.note(f"warning: {len(failed)} of {len(driven)} rounds have no result: {failed[0].doubt}")
    if json_:
        output.as_json(_as_data(driven, answer, objective))
        return
    console = PlainConsole()
    console.print(_table(driven))
    console.print(in_words(driven, answer, objective, limits))


def in_words(driven: list[RateRound], answer: Capacity, objective: RateObjective, limits: Limits) -> str:
    """Return the answer in a sentence, and the rate up to which hardly any calls missed."""
    steps = [one.step for one in driven]
    rest = _below(steps, knee(steps))
    if answer.rate is None:
        kept = all(step.share <= objective.allowed for step in steps)
        missed = all(step.share > objective.allowed for step in steps)
        why = f"it was kept even at {number(max(step.rate for step in steps))}/s" if kept else answer.note
        why = f"it was missed even at {number(min(step.rate for step in steps))}/s" if missed else why
        return f"No rate was found for {objective.text}: {why}.{rest}"
    if answer.low is None or answer.high is None:
        return f"About {number(answer.rate)} calls/s kept {objective.text}, without an interval: {answer.note}.{rest}"
    span = f"{number(answer.low)} to {number(answer.high)}"
    warning = f" Warning: {answer.doubt}." if answer.doubt else ""
    found = f"{number(answer.rate)} calls/s kept {objective.text} in these minutes"
    return f"{found} ({answer.level:.0%} interval {span}).{warning}{rest}"


def _below(steps: Sequence[RateStep], bend: float | None) -> str:
    """How many calls missed up to the knee, and of how many, so that the reader sees when there were few."""
    below = [step for step in steps if bend is not None and step.rate <= bend]
    missed, calls = sum(step.missed for step in below), sum(step.calls for step in below)
    return f" Up to {number(bend)}/s {missed:,} of {calls:,} calls missed it." if bend is not None else ""


def _table(driven: list[RateRound]) -> Table:
    table = Table(*COLUMNS, box=None)
    for row in _rows(driven):
        table.add_row(*row)
    return table


def _rows(driven: list[RateRound]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each rate that was tried, in words."""
    for rate in sorted({one.step.rate for one in driven}):
        rounds = [one for one in driven if one.step.rate == rate]
        missed = sum(one.step.missed for one in rounds) / max(sum(one.step.calls for one in rounds), 1)
        middle = rounds[len(rounds) // 2]
        times = (quantity("p50", middle.p50), quantity("p95", middle.p95))
        yield (f"{number(rate)}/s", str(len(rounds)), f"{number(100 * missed)} %", *times)


def _as_data(driven: list[RateRound], answer: Capacity, objective: RateObjective) -> dict[str, object]:
    rounds = [{**vars(one.step), "p50": one.p50, "p95": one.p95, "doubt": one.doubt} for one in driven]
    steps = [one.step for one in driven]
    return {"objective": objective.text, **vars(answer), "knee": knee(steps), "rounds": rounds}
