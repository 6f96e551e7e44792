"""``patternbench check-client``: the contract's tests against a client."""

from __future__ import annotations

import dataclasses
import json

import click
from rich.table import Table
from rich.text import Text

from patternbench.cli.narrow import fitting
from patternbench.cli.terminal import PlainConsole
from patternbench.conformance import check
from patternbench.conformance.check import ClientUnreachableError, Finding

COLOURS = {"passed": "green", "failed": "red", "inconclusive": "yellow", "not applicable": "yellow"}


@click.command("check-client", epilog="Example: patternbench check-client http://127.0.0.1:9000")
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print the findings as one JSON array.")
def check_client(url: str, as_json: bool) -> None:
    """Test whether the client at URL keeps the client contract.

    This takes about half a minute. All load goes to a target on loopback that the command itself starts.

    How well pauses are kept is measured, too. On a machine that is busy with something else such a rule is
    inconclusive, not failed.

    Exit code 0: the client breaks no rule. 1: it breaks one. 2: nothing answers at URL.
    """
    try:
        findings = _checked(url)
    except ClientUnreachableError as error:
        raise click.UsageError(str(error)) from None
    if as_json:
        click.echo(json.dumps([dataclasses.asdict(finding) for finding in findings], indent=1))
    else:
        _print(findings)
    raise SystemExit(any(finding.status == "failed" for finding in findings))


def _checked(url: str) -> list[Finding]:
    with PlainConsole(stderr=True).status("checking") as status:
        return check.check_client(url, lambda finding: status.update(f"checked: {finding.rule}"))


def _print(findings: list[Finding]) -> None:
    table = Table("rule", "verdict", "expected", "seen")
    for f in findings:
        table.add_row(f.rule, Text(f.status, COLOURS[f.status]), f.expected, f.seen)
    console = PlainConsole()
    console.print(fitting(table, console))
    click.echo(_summary(findings))


def _summary(findings: list[Finding]) -> str:
    counts = {status: sum(f.status == status for f in findings) for status in COLOURS}
    return ", ".join(f"{count} {status}" for status, count in counts.items() if count or status != "inconclusive")
