"""``patternbench try``: sends each request of a study's journeys once."""

from __future__ import annotations

import click

from patternbench.cli import output
from patternbench.cli.shared import quick_option
from patternbench.cli.terminal import printable
from patternbench.drivers.driver import DriverError
from patternbench.lab.host.processes import StartError
from patternbench.records.load_summaries import TracedAttempt
from patternbench.run.single.trying import Trial, trials
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError, Problem

DONE, FAILED = 0, 1
LONGEST = 200
"""Characters of an answer's body, and of a captured value, to print at most."""
FAILURES = {
    "timeout": "no answer within the timeout",
    "refused": "nothing listens at the address",
    "reset": "the server reset the connection",
    "closed": "the connection was closed before the answer was complete",
    "malformed": "the answer is not HTTP/1",
    "too_large": "the answer is larger than the limits allow",
}


@click.command("try", epilog="Example: patternbench try shop.yaml")
@click.argument("study_file", metavar="STUDY")
@click.option("--json", "json_", is_flag=True, help="Print every request as one JSON object.")
@quick_option
def try_(study_file: str, json_: bool, quick: bool) -> int:
    """Send the requests of each journey of STUDY once, and print each with the first expectation that fails.

    The system is started as in `run`, with the settings of the first scenario. One user sends the requests, without
    faults and patterns. Captured values are printed in full, secrets too.

    Exit code 1: an answer wasn't as expected.
    """
    file, tried = StudyFile.read(study_file, quick), list[Trial]()
    try:
        for trial in trials(file):
            tried.append(trial)
            if not json_:
                tell(trial)
    except StartError as error:
        raise InputError(Problem(str(error), file=study_file, path="system")) from None
    except DriverError as error:
        raise click.ClickException(str(error)) from None
    if json_:
        output.as_json({"journeys": [trial.as_json() for trial in tried]})
    return DONE if all(trial.good for trial in tried) else FAILED


def tell(trial: Trial) -> None:
    """Print a journey: a line per request, with captured values and the failed expectation below it."""
    say(f"group {trial.group}, journey {trial.journey}: {'good' if trial.good else 'not as expected'}")
    for number, attempt in enumerate(trial.attempts, start=1):
        say(f"{number:>3} {line(attempt)}")
        for name, value in attempt.captured.items():
            say(f"      captured {name} = {cut(str(value))}")
        if attempt.missed:
            say(f"      {'waits' if attempt.success else 'missed'}: {why(attempt)}")
        if attempt.body:
            say(f"      answer: {cut(attempt.body)}")


def line(attempt: TracedAttempt) -> str:
    """Return a request in a line: step, method, URL, status or outcome, time."""
    sent = f"{attempt.method} {attempt.url}" if attempt.url else "(not sent)"
    status = attempt.status or attempt.outcome
    ms = (attempt.end_us - attempt.start_us) / 1000
    return f"{attempt.step}: {sent}  {status}  {ms:.1f} ms"


def why(attempt: TracedAttempt) -> str:
    """Return the expectation that failed, in a sentence."""
    missed = str(attempt.missed)
    return missed if attempt.status else FAILURES.get(missed, missed)


def cut(text: str) -> str:
    """Return the beginning of a text, on one line."""
    alone = " ".join(text.split())
    return alone if len(alone) <= LONGEST else alone[: LONGEST - 1] + "…"


def say(text: str) -> None:
    """Print a line with its control characters written out."""
    click.echo(printable(text))
