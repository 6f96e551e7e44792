"""``patternbench report``: a run's report, rebuilt from its records, or a part of it printed."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import click

from patternbench.analyze.statements.claims.judged import JudgedClaims
from patternbench.cli import output
from patternbench.cli.shared import bad_input_exits, built, junit_option, tell_damage, tell_pipeline
from patternbench.cli.short_report import show
from patternbench.observe import registry
from patternbench.records import damage
from patternbench.records.folder import RunFolder
from patternbench.report import pipeline, vega
from patternbench.report.build import build, judged_claims
from patternbench.report.markdown import markdown
from patternbench.report.sections import claims, predicted
from patternbench.terms.problems import InputError, Problem

CONTRADICTED, INCONCLUSIVE = 1, 3
"""The exit codes if the rounds contradict a claim, and if they neither contradict nor show all of them."""
CLAIMS = "claims"
"""The anchor of the section on claims (report/sections/claims.py), which help is written without."""


@dataclass(frozen=True)
class ReportOptions:
    """The options of ``report``."""

    include_invalid: bool
    part: str | None
    form: str | None
    fail_if_contradicted: bool
    json_: bool
    junit: Path | None


@click.command(epilog="Example: patternbench report runs/first")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--include-invalid", is_flag=True, help="Include rounds that aren't valid; the title says so.")
@click.option("--part", type=click.Choice([CLAIMS]), help="Print this part instead of writing the report.")
@click.option("--format", "form", type=click.Choice(["md", "json"]), help="What --part is printed as.  [default: md]")
@click.option(
    "--fail-if-contradicted",
    is_flag=True,
    help="Exit with code 1 if a claim of the study is contradicted, and with code 3 if one is inconclusive.",
)
@click.option(
    "--json", "json_", is_flag=True, help="Print where the report is, and what is damaged, as one JSON object."
)
@junit_option
@bad_input_exits
def report(folder: Path, **requested: object) -> None:
    """Rebuild the report of the run in DIR, finished or not: report.html, figures, tables, rounds.parquet."""
    options = built(ReportOptions, requested)
    _check(options)
    run = RunFolder(folder)
    run.check()
    judgement = _print_part(run, options) if options.part else _write(run, options)
    if options.junit is not None or judgement is not None:
        tell_pipeline(str(folder), pipeline.of_claims(_required(run, judgement)), options.junit)
    if options.fail_if_contradicted:
        sys.exit(exit_code(_required(run, judgement)))


def exit_code(judgement: JudgedClaims) -> int:
    """Return the exit code of a gate on claims: 0 only if the rounds show all of them."""
    if judgement.is_contradicted:
        return CONTRADICTED
    return 0 if judgement.is_shown else INCONCLUSIVE


def _check(requested: ReportOptions) -> None:
    if requested.form and not requested.part:
        raise InputError(Problem("--format is of a part", hint=f"write --part {CLAIMS}, too"))
    if requested.json_ and requested.part:
        raise InputError(Problem("--json is of the whole report", hint=f"write --part {requested.part} --format json"))


def _write(run: RunFolder, requested: ReportOptions) -> JudgedClaims | None:
    """Write the whole report."""
    registry.derive(run.path)
    made = build(run, requested.include_invalid)
    for sentence in damage.not_ended(run):
        output.note(sentence)
    if requested.json_:
        output.as_json({"run": str(run.path), "report": str(run.report), "damage": list(made.damage)})
    else:
        show(made)
        click.echo(f"report: {run.report}")
        if not vega.draws_svg():
            output.note(f"the report draws its figures in a browser; to have them as files, too, {vega.INSTALL}")
    return made.claims


def _print_part(run: RunFolder, requested: ReportOptions) -> JudgedClaims:
    """Print the claims of the run's study, and write no report."""
    tell_damage(run)
    judgement = _required(run, judged_claims(run, requested.include_invalid))
    simulated = predicted.is_simulated(run.path)
    if requested.form == "json":
        output.as_json({**claims.as_json(judgement), **({"simulated": True} if simulated else {})})
    else:
        made = claims.section(judgement)
        click.echo(markdown(predicted.marked(made) if simulated else made), nl=False)
    return judgement


def _required(run: RunFolder, judgement: JudgedClaims | None) -> JudgedClaims:
    if judgement is None:
        hint = "write what you expect under `claims` of the study, before its next run"
        raise InputError(Problem("the study of this run has no claims", file=str(run.study), hint=hint))
    return judgement
