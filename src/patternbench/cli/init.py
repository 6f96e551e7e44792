"""``patternbench init``: the first study of a user's own service, from three questions."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from patternbench.cli import configured, output
from patternbench.configurations.reading import summary, today
from patternbench.records.outputs import check_outputs, write_whole
from patternbench.run.single import subjects
from patternbench.study import starters
from patternbench.study.starters import GOALS, Budget, Goal, StartedService, Subject
from patternbench.terms.problems import InputError, Problem

WHAT = "What do you want to measure: the URL of a service that runs, a Compose file, or a command that starts one?"
COMPOSE = (".yaml", ".yml")
MINUTES = 10.0
TODAY = "Your configuration, to compare with: what import-config reads."


@dataclass(frozen=True)
class GivenAnswers:
    """A user's answers, from options or from questions."""

    url: str | None
    compose: str | None
    command: str | None
    service: str | None
    path: str | None
    port: int | None
    find_out: str | None
    minutes: float | None
    today: tuple[Path, ...]
    of: tuple[str, ...]

    @property
    def subjects(self) -> list[str]:
        """The names of the options that name the subject of the study."""
        return [name for name in ("url", "compose", "command") if getattr(self, name) is not None]


@click.command(epilog="Example: patternbench init --url http://127.0.0.1:8080/ --minutes 10")
@click.option("--url", metavar="URL", help="A running service, with the path to request.")
@click.option("--compose", metavar="FILE", help="A Compose file; needs --service.")
@click.option(
    "--service", metavar="NAME:PORT", help="The service of the Compose file to request, with the port of its container."
)
@click.option(
    "--command", metavar="COMMAND", help="A command that starts a service, which reads its port from the variable PORT."
)
@click.option("--port", type=click.IntRange(1, 65535), help="The port of a command that doesn't read PORT.")
@click.option("--path", metavar="PATH", help="The path to request, with --command or --compose [default: /].")
@click.option("--find-out", type=click.Choice(list(GOALS)), help="The question of the study [default: retry].")
@click.option("--minutes", type=click.FloatRange(1, 1440), help=f"Longest duration of the run [default: {MINUTES:g}].")
@click.option("--today", multiple=True, metavar="FILE", type=click.Path(path_type=Path), help=TODAY)
@click.option("--of", multiple=True, metavar="NAME", help="What to read of a file of --today with several.")
@click.option(
    "--out", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder to write to [default: .]."
)
@click.option("--yes", is_flag=True, help="Ask nothing: use defaults for what the options leave out.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--json", "json_", is_flag=True, help="Ask nothing, like --yes, and print what was written as JSON.")
def init(out: Path, yes: bool, force: bool, json_: bool, **options: object) -> None:
    """Write a study of your own service. Asks what to measure, what to find out, and how long it may take."""
    answers = GivenAnswers(**options)  # type: ignore[arg-type]  # click has converted each
    asks = can_ask() and not (yes or json_)
    subject = _subject(answers, asks, out)
    goal = _goal(answers, asks)
    minutes = answers.minutes or (_prompted_minutes() if asks else MINUTES)
    plan = starters.budget(goal.scenarios, minutes)
    takes, lacks = plan.words(goal.scenarios), plan.too_few(goal.scenarios)
    _tell(_write(_files(subject, goal, plan), _study_folder(out), force), takes, lacks, json_)


def _goal(answers: GivenAnswers, asks: bool) -> Goal:
    """Return the question of the study. Raises InputError where the options ask two."""
    if not answers.today:
        if answers.of:
            raise InputError(Problem("needs --today", "--of", value=answers.of[0], hint="name the file with --today"))
        return GOALS[answers.find_out or (_prompted_goal() if asks else "retry")]
    if answers.find_out:
        hint = "leave one of them out"
        raise InputError(Problem("asks another question than --today", "--find-out", value=answers.find_out, hint=hint))
    layers = configured.read(answers.today).layers(answers.of)
    if not summary.is_complete(layers):
        output.note("`today` lacks what was not understood: `patternbench import-config` lists it, line by line")
    return today.goal(layers)


def _study_folder(out: Path) -> Path:
    """Return the folder to write to. Raises InputError for what is meant to be the study itself."""
    if out.suffix in (".yaml", ".yml", ".json") and not out.is_dir():
        hint = f"type `--out {out.parent}`; the study is named after its question"
        raise InputError(Problem("names a study, where a folder is wanted", "--out", value=str(out), hint=hint))
    return out


def _tell(written: Sequence[Path], takes: str, lacks: str, json_: bool) -> None:
    """Say what was written, the study first, what it lacks, and what to do with it."""
    if json_:
        output.as_json({"written": [str(path) for path in written], "takes": takes, "lacks": lacks or None})
        return
    for path in written:
        click.echo(f"wrote {path}")
    if lacks:
        click.echo(lacks)
    study = written[0]
    first = f"`patternbench try {study}` sends its request once, `patternbench plan {study}` lists its rounds"
    click.echo(f"\nNow type `patternbench run {study}`, which takes {takes}; before it, {first}.")


def can_ask() -> bool:
    """Whether a person can answer: standard input is a terminal."""
    return sys.stdin.isatty()


def _subject(answers: GivenAnswers, asks: bool, out: Path) -> Subject:
    """Return the subject of the study. Raises InputError if none is named, or if nothing answers there."""
    if len(answers.subjects) > 1:
        allowed = "one of --url, --compose, --command"
        raise InputError(Problem("names several things to measure", value=" ".join(answers.subjects), allowed=allowed))
    if not answers.subjects and not asks:
        hint = "name one of --url URL, --compose FILE, --command COMMAND"
        raise InputError(Problem("nothing to measure is named, and there is no terminal to ask on", hint=hint))
    kind, text = _given_subject(answers) if answers.subjects else _prompted_subject()
    if kind == "url":
        return subjects.running(text)
    if kind == "compose":
        return subjects.composed(text, _service(answers, asks), _path(answers, asks), out)
    return subjects.started(text, _path(answers, asks), answers.port, out)


def _given_subject(answers: GivenAnswers) -> tuple[str, str]:
    kind = answers.subjects[0]
    return kind, str(getattr(answers, kind)).strip()


def _prompted_subject() -> tuple[str, str]:
    """Return the subject that a user types, recognised by its form."""
    text = str(click.prompt(WHAT, prompt_suffix="\n> ")).strip()
    if re.match(r"https?://", text):
        return "url", text
    return ("compose" if text.endswith(COMPOSE) and Path(text).is_file() else "command"), text


def _prompted_goal() -> str:
    click.echo("What do you want to find out?")
    for number, goal in enumerate(GOALS.values(), start=1):
        click.echo(f"  {number}  {goal.question}")
    number = click.prompt("", prompt_suffix="> ", type=click.IntRange(1, len(GOALS)), default=1)
    return list(GOALS)[number - 1]


def _prompted_minutes() -> float:
    question = "How many minutes may it take?"
    return float(click.prompt(question, prompt_suffix="\n> ", type=click.FloatRange(1, 1440), default=MINUTES))


def _path(answers: GivenAnswers, asks: bool) -> str:
    """Return the path to request of a service that the lab starts."""
    requested = answers.path or (click.prompt("Which path should be requested?", default="/") if asks else "/")
    return requested if requested.startswith("/") else f"/{requested}"


def _service(answers: GivenAnswers, asks: bool) -> str:
    question = "Which of its services should be requested, and at which port of its container (web:8080)?"
    return answers.service or (str(click.prompt(question, prompt_suffix="\n> ")) if asks else "")


def _files(subject: Subject, goal: Goal, plan: Budget) -> dict[str, str]:
    """Return the texts to be written, by their paths; the study is the first."""
    files = {f"{goal.word}.yaml": starters.study(subject, goal, plan)}
    if isinstance(subject, StartedService):
        files[f"{subjects.SYSTEMS}/{subject.name}.yaml"] = starters.system(subject)
    return files


def _write(files: Mapping[str, str], out: Path, force: bool) -> list[Path]:
    """Write them. Raises InputError for files that exist already."""
    paths = [out / name for name in files]
    check_outputs(paths, force=force)
    for path, text in zip(paths, files.values(), strict=True):
        write_whole(path, text.encode())
    return paths
