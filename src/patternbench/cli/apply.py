"""``patternbench apply``: the recommended configuration in the form of the product that a user runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING

import click

from patternbench.cli import output
from patternbench.cli.shared import bad_input_exits, factors, names_of, read, seed_option
from patternbench.configurations.registry import MODULES, form
from patternbench.records import stored
from patternbench.records.folder import RunFolder
from patternbench.terms.problems import InputError, Problem

if TYPE_CHECKING:
    from patternbench.configurations.fidelity import FieldMapping
    from patternbench.configurations.form import Form, GuardedService
    from patternbench.lab.systems import SystemFile
    from patternbench.report.applied import ApplicableConfiguration
    from patternbench.study.model.system import System

NAME, HOST = r"[A-Za-z][A-Za-z0-9_-]{0,62}", r"[A-Za-z0-9][A-Za-z0-9._-]{0,252}"
"""What every form takes as the name of a service, and of a host."""
FORMAT = "patternbench/applied/1"
WIDTH = 116
"""Of the lines of a comment, without the signs that make it one."""


def _like(pattern: str, allowed: str) -> Callable[[click.Context, click.Parameter, str], str]:
    """Return the check of a text that is written into files of many kinds as it is."""

    def checked(_: click.Context, __: click.Parameter, value: str) -> str:
        if not re.fullmatch(pattern, value):
            raise click.BadParameter(f"{value!r} is not allowed; allowed: {allowed}")
        return value

    return checked


@click.command(epilog="Example: patternbench apply runs/first --as spring --at abort.percentage=20")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--as", "name", required=True, type=click.Choice([*MODULES]), help="The form to write.")
@click.option(
    "--at",
    "conditions",
    multiple=True,
    callback=names_of,
    metavar="FACTOR=LEVEL",
    help="The condition whose recommendation is meant, if a run has several.",
)
@click.option("--scenario", metavar="ID|LEVELS", help="Another configuration: an id, or FACTOR=LEVEL,FACTOR=LEVEL.")
@click.option("--approximate", is_flag=True, help="Take what is nearest, and leave out what can't be said.")
@click.option("--objective", "objectives", multiple=True, help="As of `recommend` [default: the run's own].")
@click.option("--subject-to", "limits", multiple=True, help="As of `recommend` [default: the run's own].")
@click.option(
    "--name",
    "guarded",
    default="service",
    show_default=True,
    callback=_like(NAME, "a letter, then letters, digits, - and _"),
    help="What the configuration calls the service.",
)
@click.option(
    "--host",
    default="service.example",
    show_default=True,
    callback=_like(HOST, "letters, digits, dots, - and _"),
    help="Where it is, for proxies.",
)
@click.option("--port", type=click.IntRange(1, 65535), default=80, show_default=True, help="Its port, for proxies.")
@seed_option
@click.option("--out", type=click.Path(path_type=Path), metavar="FILE", help="Write to FILE instead of the terminal.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@click.option("--json", "as_json", is_flag=True, help="Print everything as one JSON object.")
@bad_input_exits
def apply(
    *,
    run: Path,
    name: str,
    conditions: tuple[str, ...],
    scenario: str | None,
    approximate: bool,
    objectives: tuple[str, ...],
    limits: tuple[str, ...],
    guarded: str,
    host: str,
    port: int,
    seed: int,
    out: Path | None,
    force: bool,
    as_json: bool,
) -> None:
    """Write what RUN recommends as configuration of another product, with the evidence for it at its top.

    Each field is listed as exact, approximated or not expressible. Unless all are exact, nothing is written without
    --approximate.
    """
    from patternbench.configurations.form import GuardedService  # noqa: PLC0415 - slow to import
    from patternbench.records.outputs import check_outputs, write_whole  # noqa: PLC0415 - slow to import

    check_outputs([out] if out else [], [run], force)
    found = _applicable(run, conditions, scenario, (objectives, limits), seed)
    chosen = form(name)
    body, fields = _written(chosen, found, GuardedService(guarded, host, port), run)
    _refuse(chosen, body, fields, approximate)
    text = _file(chosen, body, fields, found)
    if out is not None:
        write_whole(out, text.encode())
    if as_json:
        output.as_json(_as_json(chosen, text, fields, found, str(out or chosen.file)))
    elif out is None:
        click.echo(text, nl=False)


def _written(
    chosen: Form, found: ApplicableConfiguration, target: GuardedService, run: Path
) -> tuple[str, list[FieldMapping]]:
    """Return the configuration, and how well each field of the policies and of the system's settings is said."""
    from patternbench.configurations.policies_of_systems import NO_PATTERNS, patterns_of  # noqa: PLC0415 - slow to import
    from patternbench.configurations.proxies import NO_PROXY  # noqa: PLC0415 - slow to import
    from patternbench.configurations.proxies_of_systems import proxy_of  # noqa: PLC0415 - slow to import

    system = found.scenarios[0].system
    given = system.setting_levels
    file = _file_of(RunFolder(run), system) if given else None
    own = patterns_of(file, given) if file and not found.patterns.stack else NO_PATTERNS
    proxy = proxy_of(file, given) if file and chosen.with_proxy else NO_PROXY
    patterns = own.patterns if own.patterns.stack else found.patterns
    written = chosen.with_proxy(patterns, target, proxy) if chosen.with_proxy else chosen.write(patterns, target)
    names = proxy.names | own.settings
    return written.body, [*written.mapped, *(one for one in found.settings if one.ours not in names)]


def _file_of(folder: RunFolder, system: System) -> SystemFile | None:
    """Return the file of a run's system: the run's own copy, else the shipped one.

    None for a URL, and for a file that is no longer there, which is noted.
    """
    from patternbench.lab import systems  # noqa: PLC0415 - slow to import

    kept = stored.manifest(folder).files.get(systems.own_name(system))
    try:
        return systems.load_file(folder.path / kept.copied_to) if kept else systems.file_of(system)
    except InputError as error:
        output.note(f"the settings of the system are not written: {error}")
        return None


def _applicable(
    run: Path,
    conditions: Sequence[str],
    scenario: str | None,
    aims: tuple[tuple[str, ...], tuple[str, ...]],
    seed: int,
) -> ApplicableConfiguration:
    """Return the configuration that is recommended, or named, of a run."""
    from patternbench.analyze.recommend.recommendation import recommend  # noqa: PLC0415 - slow to import
    from patternbench.cli.recommend import requested  # noqa: PLC0415 - slow to import
    from patternbench.report import applied  # noqa: PLC0415 - slow to import
    from patternbench.report.sections import predicted  # noqa: PLC0415 - slow to import
    from patternbench.report.sections.construction import requested_of  # noqa: PLC0415 - slow to import

    folder = RunFolder(run)
    folder.check()
    table, known = read(run), factors(run)
    criteria = replace(requested(run, table.columns, *aims, ()), factors=known, seed=seed)
    recommendation = recommend(table, criteria)
    predicted.check(run, table, requested_of(recommendation))
    measured = applied.MeasuredRun.read(folder, known)
    if scenario is not None:
        found = applied.named(measured, recommendation, scenario, criteria)
    else:
        found = applied.recommended(measured, recommendation, conditions, criteria.level)
    return replace(found, evidence=(*(note.text for note in predicted.notes(table)), *found.evidence))


def _refuse(chosen: Form, body: str, fields: Sequence[FieldMapping], approximate: bool) -> None:
    """Raise InputError where the form can't hold the policies, or holds them only nearly and that wasn't asked for."""
    from patternbench.configurations.fidelity import inexact  # noqa: PLC0415 - slow to import

    wrong = inexact(fields)
    problems = [Problem(f"{one.fidelity}: {one.why}", one.ours, value=one.value) for one in wrong]
    if not body:
        message = f"{chosen.name} can't be told this configuration"
        raise InputError([Problem(message, hint="choose another form with --as"), *problems])
    if wrong and not approximate:
        message = f"{chosen.name} can't be told {len(wrong)} of {len(fields)} fields exactly"
        hint = "add --approximate to take what is nearest, and to leave out what can't be said"
        raise InputError([Problem(message, hint=hint), *problems])


def _file(chosen: Form, body: str, fields: Sequence[FieldMapping], found: ApplicableConfiguration) -> str:
    """Return the whole file: the evidence and the list of fields as a comment, then the configuration."""
    lines = [
        f"{chosen.product}, written by patternbench apply.",
        *found.evidence,
        "fields:",
        *(f"- {one.words}" for one in fields),
        f"checked: {chosen.checked}",
    ]
    wrapped = (part for line in lines for part in wrap(line, WIDTH, subsequent_indent="    "))
    return "".join(f"{chosen.comment} {part}\n" for part in wrapped) + "\n" + body


def _as_json(
    chosen: Form, text: str, fields: Sequence[FieldMapping], found: ApplicableConfiguration, file: str
) -> dict[str, object]:
    """Lay out the file with its fields and its evidence (keys: docs/apply.md)."""
    return {
        "format": FORMAT,
        "as": chosen.name,
        "file": file,
        "configuration": text,
        "evidence": [*found.evidence],
        "fields": [one.as_json() for one in fields],
    }
