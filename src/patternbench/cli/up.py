"""``patternbench up``: starts a system, to try it by hand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import click

from patternbench.cli import output
from patternbench.interrupts import EndRequest
from patternbench.lab import environment, startable, systems
from patternbench.lab.environment import Environment
from patternbench.lab.host.accounts import scratch
from patternbench.lab.host.processes import StartError
from patternbench.lab.host.references import URL
from patternbench.study.model.placement import IN
from patternbench.terms.problems import InputError, Problem

LOOK_EVERY_S = 0.5
PLACES = ("processes", "containers")
"""Where services may run (study/model/placement.py), which help is written without."""


@click.command(epilog="Example: patternbench up target --set service_time=fixed:10ms")
@click.argument("system_name", metavar="SYSTEM")
@click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the system, or SERVICE.cpus, .memory, .replicas. May be repeated.",
)
@click.option("--in", "place", type=click.Choice(PLACES), help="Where services run: processes.")
@click.option("--json", "json_", is_flag=True, help="Print the endpoints as one JSON object on the first line.")
def up(system_name: str, settings: tuple[str, ...], place: str | None, json_: bool) -> int:
    """Start SYSTEM, print its endpoints, and keep it running until Ctrl-C."""
    system = systems.load(system_name, Path.cwd())
    levels = dict(_pair(text) for text in settings) | ({IN: place} if place else {})
    system.check([levels])
    startable.check_settings(system, levels)
    startable.check_needs(system, levels)
    with scratch("patternbench-up-") as folder:
        try:
            with environment.named(system, levels, folder) as running:
                end = EndRequest()  # not before: a signal ends the wait for a component that is not up yet
                tell(running, json_)
                first = system.first_request_with(levels)
                if first and not json_:
                    click.echo(with_addresses(first, running.endpoints()))
                return keep(running, end)
        except StartError as error:
            raise InputError(Problem(str(error), path=system_name)) from None


def tell(running: Environment, json_: bool) -> None:
    """Print the system's endpoints."""
    if json_:
        click.echo(json.dumps(running.endpoints()))
        return
    for name, url in running.endpoints().items():
        click.echo(f"{name:16} {url}")
    click.echo("up; Ctrl-C takes it down")


def with_addresses(text: str, endpoints: Mapping[str, str]) -> str:
    """Return the text with addresses filled in: ``${NAME.url}`` of a component, ``${NAME.ENDPOINT}`` of its others.

    ``${NAME.user}`` and ``${NAME.password}`` are those that the component's address holds.
    """

    def address(match: re.Match[str]) -> str:
        name, what = match.groups()
        own = urlsplit(endpoints.get(name, ""))
        account = {"user": own.username, "password": own.password}
        return endpoints.get(name if what == URL else f"{name}.{what}") or account.get(what) or match[0]

    return re.sub(r"\$\{([\w-]+)\.([\w-]+)\}", address, text).rstrip()


def keep(running: Environment, end: EndRequest) -> int:
    """Wait for Ctrl-C. Exit with code 1 if a component dies first."""
    while not end.within(LOOK_EVERY_S):
        dead = running.dead()
        if dead:
            output.say(f"died: {' '.join(dead)}", "red", stderr=True)
            return 1
    return 0


def _pair(text: str) -> tuple[str, object]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise InputError(Problem("is not KEY=VALUE", path="--set", value=text, hint="for example --set workers=2"))
    try:
        return name, json.loads(value)
    except (ValueError, RecursionError):
        return name, value
