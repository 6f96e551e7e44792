"""``patternbench doctor``: what is missing on this machine, and what disturbs measurements."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import click
from rich.table import Table
from rich.text import Text

from patternbench.cli import output
from patternbench.cli.shared import quick_option
from patternbench.cli.terminal import PlainConsole
from patternbench.drivers import registry
from patternbench.lab import machine, shipped, startable, systems, tracing
from patternbench.lab.software import installing
from patternbench.lab.software.needs import Need
from patternbench.study.load import StudyFile, load
from patternbench.study.model.system import NamedSystem
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem

NAMED = 3
"""Studies that are listed next to a system or client that they use; of others they get the number."""


@click.command(epilog="Example: patternbench doctor shop.yaml --install")
@click.argument("study_file", metavar="[STUDY]", required=False)
@click.option("--install", is_flag=True, help="Install what is missing, where that is possible.")
@click.option("--json", "json_", is_flag=True, help="Print the findings as one JSON object.")
@quick_option
def doctor(study_file: str | None, install: bool, json_: bool, quick: bool) -> int:
    """List what systems, clients and studies lack here, how to install it, and what will disturb measurements.

    With STUDY, list only what that study needs: its system, its clients, its traces.

    Exit code 1: something is missing.
    """
    file = StudyFile.read(study_file, quick) if study_file else None
    looked_for = partial(needed_by, file) if file else partial(everything, None if json_ else NAMED)
    needs_of = dict(looked_for())
    if install:
        installing.install([need for needs in needs_of.values() for need in needs])
        needs_of = dict(looked_for())
    disturbing = None if study_file else machine.disturbances()
    _report(needs_of, disturbing, json_)
    return 0 if all(need.met for needs in needs_of.values() for need in needs) else 1


def _report(needs_of: dict[str, list[Need]], disturbing: list[machine.Disturbance] | None, json_: bool) -> None:
    """Print the findings; ``disturbing`` is None where no one asked about the machine."""
    if json_:
        needs = [{"for": part, **_as_json(need)} for part, needs in needs_of.items() for need in needs]
        reported = {} if disturbing is None else {"disturbances": [vars(disturbance) for disturbance in disturbing]}
        output.as_json({"needs": needs, **reported})
    else:
        show(needs_of, disturbing)


def needed_by(file: StudyFile) -> Iterator[tuple[str, list[Need]]]:
    """Yield what one study needs: its system at the levels that it gives, each of its clients, its traces.

    Raises InputError for what is wrong with the study.
    """
    study = file.study()
    with file.placed():
        yield from _of_system(study, file.study_folder)
        for name in dict.fromkeys(client for strategy in study.strategies for client in strategy.client):
            yield f"client {name}", list(registry.required(name, study.clients.get(name)).needs)


def _of_system(study: Study, study_folder: Path) -> Iterator[tuple[str, list[Need]]]:
    declared = study.system
    if not isinstance(declared, NamedSystem):
        if not declared.direct:
            yield "fault proxy before the system", startable.proxy_needs()
        return
    system = systems.load(declared.name, study_folder)
    yield f"system {declared.name}", startable.needs(system, declared.given)
    if study.traces is not None and tracing.JVM in system.kinds(declared.given):
        yield "traces of JVM services", tracing.needs(counting=study.traces.counting_pass)


def everything(named: int | None = None) -> Iterator[tuple[str, list[Need]]]:
    """Yield what each system and client needs, and which shipped studies use it. Systems of this folder are among them.

    At most ``named`` studies are named next to each, all of them without it. Needs that this installation can't meet
    are left out.
    """
    used = studies_using()
    for name in systems.names(Path.cwd()):
        needs = startable.needs(systems.load(name, Path.cwd()))
        yield titled("system", name, used.get(name, []), named), [need for need in needs if need.obtainable]
    if any(tracing.JVM in systems.load(name, Path.cwd()).kinds() for name in systems.names(Path.cwd())):
        yield "traces of JVM services", tracing.needs()
    for name in registry.names():
        spec = registry.find(name, {})
        assert not isinstance(spec, Problem)
        yield titled("client", name, used.get(name, []), named), list(spec.needs)


def studies_using() -> dict[str, list[str]]:
    """Return the studies shipped with patternbench, by the systems and clients that they name."""
    used: dict[str, list[str]] = {}
    for path in sorted(shipped.folder("studies").glob("*.yaml")):
        try:
            study = load(path)
        except InputError:
            continue
        systems_named = [study.system.name] if isinstance(study.system, NamedSystem) else []
        clients = [client for strategy in study.strategies for client in strategy.client]
        for name in {*systems_named, *clients}:
            used.setdefault(name, []).append(path.stem)
    return used


def show(needs_of: dict[str, list[Need]], disturbing: list[machine.Disturbance] | None) -> None:
    """Print the findings for people; nothing of the machine where ``disturbing`` is None."""
    console = PlainConsole()
    for part, needs in needs_of.items():
        console.print(part)
        console.print(_table(needs))
    for disturbance in disturbing or []:
        console.print(
            Text.assemble(("will disturb measurements", "yellow"), f": {disturbance.what}; {disturbance.remedy}")
        )
    if disturbing == []:
        console.print("nothing here will disturb measurements")


def _table(needs: list[Need]) -> Table:
    table = Table.grid(padding=(0, 2))
    for need in _each_once(needs):
        table.add_row("", need.name, _state(need))
    return table


def _each_once(needs: list[Need]) -> list[Need]:
    """Return the needs, each once, also where several components of a system share it."""
    return list({need.name: need for need in needs}.values())


def _state(need: Need) -> Text:
    return Text("ok", "green") if need.met else Text.assemble(("missing", "red"), f": {need.how}")


def titled(kind: str, name: str, studies: list[str], named: int | None) -> str:
    """Name a system or client with the first studies that use it; with all of them where ``named`` is None."""
    if named is not None and len(studies) > named:
        studies = [*studies[:named], f"{len(studies) - named} more"]
    return f"{kind} {name}" + (f" (for {', '.join(studies)})" if studies else "")


def _as_json(need: Need) -> dict[str, object]:
    return {"name": need.name, "found": need.present, "how": need.how}
