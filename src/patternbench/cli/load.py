"""``patternbench load``: the load engine by itself, against any URL."""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path

import click
from rich.live import Live

from patternbench import interrupts
from patternbench.cli import output
from patternbench.cli.lanes import SEND_PACKAGE, cluster_of
from patternbench.cli.load_defaults import TIMEOUT, USERS
from patternbench.cli.load_study import Options, RequestedJob, job_of
from patternbench.cli.load_view import History, ending, live
from patternbench.cli.parameter_types import DurationType, RateType, WeightsType
from patternbench.cli.shared import built
from patternbench.cli.terminal import PlainConsole
from patternbench.drivers.driver import DriverError
from patternbench.drivers.engine import JobError, as_problem
from patternbench.drivers.split_load import HERE, EarlyEndError, GeneratorPlace, opened
from patternbench.records.load_summaries import LoadSummary
from patternbench.terms.problems import InputError, Problem, reason

DONE, NOTHING_GOOD, NOT_VALID, INTERRUPTED = 0, 1, 3, 130
MOST_GENERATORS = 100
"""As in a study (study/models.py). The help of the command, which says it, is written without loading that."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
REPORTED = (
    "requests",
    "errors",
    "dropped",
    "statuses",
    "outcomes",
    "duration_s",
    "rate_per_s",
    "response_ms",
    "service_ms",
    "lateness_ms",
    "generator_cpu_s",
)
"""The fields that ``--json`` prints, with the policies' counts and the single generators where there are any.

``--out`` keeps the whole summary.
"""


@click.command(epilog="Example: patternbench load http://127.0.0.1:8080/ --rate 500 --duration 30s")
@click.argument("urls", metavar="URL...", nargs=-1, required=True)
@click.option("--rate", type=RateType(), help="Open workload: calls per second (or 120/m), on a schedule.")
@click.option(
    "--users", type=click.IntRange(1, 1_000_000), help=f"Closed workload: number of virtual users.  [default: {USERS}]"
)
@click.option(
    "--duration", type=DurationType(), help="How long to keep starting calls.  [default: 10s without --requests]"
)
@click.option(
    "--requests",
    type=click.IntRange(1, 1_000_000_000),
    help="Stop after this many calls, at the latest after --duration.",
)
@click.option("--warm-up", type=DurationType(), default="0s", show_default=True, help="Recorded, but not summarised.")
@click.option("--poisson", is_flag=True, help="With --rate: exponential gaps instead of even ones.")
@click.option(
    "--in-flight",
    type=click.IntRange(1, 1_000_000),
    default=1000,
    show_default=True,
    help="With --rate: calls in flight at most; above it, calls are dropped and counted.",
)
@click.option("--method", type=click.Choice(METHODS, case_sensitive=False), help="[default: GET]")
@click.option(
    "--header", "headers", multiple=True, metavar="'NAME: VALUE'", help="A header of every request. May be repeated."
)
@click.option(
    "--body", help="The text to send, or @FILE. ${user}, ${random:1-100}, ... are replaced in text, not in files."
)
@click.option("--timeout", type=DurationType(), help=f"Longest duration of an attempt.  [default: {TIMEOUT}]")
@click.option(
    "--redirects",
    type=click.IntRange(0, 20),
    metavar="N",
    help="Follow up to N redirects, and only to the hosts of the URLs.  [default: 0]",
)
@click.option(
    "--journey",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Send the journeys of a YAML or JSON file, written as in a study: a list of steps, `journey` or `journeys`. "
    "Their paths come after the URL's.",
)
@click.option("--deadline", type=DurationType(positive=True), help="End each call this long after its intended start.")
@click.option(
    "--retry",
    type=click.IntRange(1, 1000),
    metavar="N",
    help="Up to N attempts per call, the first included. Pauses double from 100ms to 10s, with full jitter.",
)
@click.option(
    "--hedge", type=DurationType(), help="Send a second attempt if the first hasn't succeeded after this time."
)
@click.option(
    "--policies",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="A YAML or JSON list of policies, outermost first, like a study's `stack`. Replaces the three options above.",
)
@click.option(
    "--weights", type=WeightsType(), metavar="N,N,...", help="Share of calls per URL.  [default: equal, in turn]"
)
@click.option(
    "--unix-socket", type=click.Path(), metavar="PATH", help="Send to this socket. The URL gives host and path."
)
@click.option("--ca", type=click.Path(), help="Trust the certificates of this PEM file instead of the system's.")
@click.option("--insecure", is_flag=True, help="Don't verify certificates. A warning at the end says so.")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of everything drawn at random."
)
@click.option(
    "--generators",
    type=click.IntRange(1, MOST_GENERATORS),
    default=1,
    show_default=True,
    metavar="N",
    help="Split the load over N generators that begin at one instant: processes of this machine, or with --on nodes.",
)
@click.option(
    "--on",
    metavar="ray[:ADDRESS]",
    help="With --generators: one on each node of a Ray cluster; without an address, on nodes of this machine, for a "
    "trial.",
)
@click.option("--trust-cluster", is_flag=True, help="Use a cluster that takes any token.")
@SEND_PACKAGE
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Write attempts.parquet, histograms.json and summary.json to this folder.",
)
@click.option("--json", "json_", is_flag=True, help="Print one JSON object at the end, without a live view.")
def load(
    out: Path | None, json_: bool, on: str | None, trust_cluster: bool, send_package: bool, **given: object
) -> int:
    """Drive load at URL and show what comes back. Calls go to several URLs in turn.

    Exit code 1: the load couldn't be driven, or no call succeeded. Exit code 3: the generator couldn't keep up with the
    load that was asked for, so the numbers that it prints aren't a result.
    """
    options = built(Options, given)
    job = job_of(options, log=out is not None)
    with ExitStack() as stack:
        stack.enter_context(held(out))
        folder = out or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="patternbench-load-")))
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="patternbench-log-")))
        place = stack.enter_context(generators_at(on, options.generators, trust_cluster, send_package, logs))
        summary = drive(job, folder, logs, options, quiet=json_, place=place)
    tell(summary, json_, out)
    if options.insecure:
        output.note("certificates were not verified (--insecure): anybody may have answered")
    return exit_code(summary)


@contextmanager
def generators_at(
    on: str | None, generators: int, trusting: bool, sending: bool, logs: Path
) -> Iterator[GeneratorPlace]:
    """Where generators run. Raises InputError for a place that doesn't go with the load."""
    if on is None:
        if trusting or sending:
            alone = "--trust-cluster" if trusting else "--send-package"
            raise InputError(
                Problem(f"{alone} says nothing without --on", hint="add --on ray:ADDRESS, or leave it out")
            )
        yield HERE
        return
    address = cluster_of(on)
    if generators == 1:
        message = "a load of one generator is made here"
        raise InputError(Problem(message, path="--on", value=on, hint="add --generators N, or leave --on out"))
    from patternbench.run.lanes.ray_generators import generators_on  # noqa: PLC0415 - few loads need a cluster
    from patternbench.run.lanes.ray_lanes import RayPlace  # noqa: PLC0415 - few loads need a cluster

    with generators_on(RayPlace(address, generators, trusting, sending=sending), logs) as place:
        yield place


def exit_code(summary: LoadSummary) -> int:
    """Return the exit code of the command: the most important outcome decides."""
    if summary.interrupted:
        return INTERRUPTED
    if not summary.successes:
        return NOTHING_GOOD
    return DONE if summary.valid else NOT_VALID


@contextmanager
def held(out: Path | None) -> Iterator[None]:
    """Keep an output folder to this command. Raises InputError where it has files, or another command writes there."""
    if out is None:
        yield
        return
    try:
        out.mkdir(parents=True, exist_ok=True)
        handle = os.open(out, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise InputError(Problem(f"can't be written to: {reason(error)}", path="--out", value=str(out))) from None
    try:
        _lock_empty(out, handle)
        yield
    finally:
        os.close(handle)


def _lock_empty(out: Path, handle: int) -> None:
    """Lock a folder, on the folder itself, so that it stays empty for us. Raises InputError where that can't be."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise InputError(Problem("another command is writing there", path="--out", value=str(out))) from None
    except OSError as error:
        output.note(f"{out} can't be locked ({reason(error)}), so give it to no other command meanwhile")
    if any(out.iterdir()):
        raise InputError(Problem("is already there, and not empty", path="--out", value=str(out)))


def drive(
    job: RequestedJob, out: Path, logs: Path, options: Options, *, quiet: bool, place: GeneratorPlace = HERE
) -> LoadSummary:
    """Run the job with a live view on a terminal's standard error; Ctrl-C ends it early with what there is."""
    console = PlainConsole(stderr=True)
    history = History()
    shown = not quiet and console.is_terminal
    view = Live(live(history, options.urls, length(options)), console=console, refresh_per_second=8, transient=True)
    try:
        with opened(job.job, out, logs, place) as load, view if shown else nullcontext():
            interrupts.on_first(load.stop)  # it keeps its results
            for progress in load.progress():
                history.add(progress)
                view.update(live(history, options.urls, length(options)))
    except JobError as error:
        raise InputError([job.placed(as_problem(problem, problem.path)) for problem in error.problems]) from None
    except EarlyEndError:
        raise KeyboardInterrupt from None
    except DriverError as error:
        raise output.NotDoneError(str(error)) from None
    assert load.summary is not None
    return load.summary


def length(options: Options) -> float | None:
    """For how many seconds calls start, the warm-up included; None when a count ends the load."""
    duration = options.lasting
    return options.warm_up.seconds + duration.seconds if duration else None


def tell(summary: LoadSummary, json_: bool, out: Path | None) -> None:
    """Print the results; warnings go to standard error."""
    if json_:
        reported = [*REPORTED, *(name for name in ("policies", "generators") if getattr(summary, name))]
        stated = summary.model_dump(exclude_unset=True)
        output.as_json({name: stated[name] for name in reported})
    else:
        PlainConsole().print(ending(summary))
    for warning in summary.doubts:
        word = "not valid" if warning.invalidates else "warning"
        output.note(f"{word}: {warning.message}; {warning.remedy}")
    if out and not json_:
        click.echo(f"records: {out}")
