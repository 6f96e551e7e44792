"""``patternbench plan``: the scenarios of a study, before anything runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from rich.table import Column, Table
from rich.text import Text

from patternbench.cli import output
from patternbench.cli.output import described
from patternbench.cli.shared import no_commands_option
from patternbench.cli.terminal import Plain
from patternbench.drivers import choice
from patternbench.plan import estimate, fraction
from patternbench.plan.expand import Plan, size
from patternbench.plan.order import rounds_of
from patternbench.records.inputs import Inputs
from patternbench.run import inspection, preflight
from patternbench.run.changeovers import Changeovers, Starts, counted
from patternbench.study.evidence import fewest
from patternbench.study.evidence import most as largest
from patternbench.study.files import read_text
from patternbench.study.load import loads, parse_study, placed
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem, gathered

SHOWN = 40


@click.command(epilog="Example: patternbench plan studies/quickstart.yaml")
@click.argument("study_file", metavar="STUDY")
@click.option("--json", "json_", is_flag=True, help="Print factors and scenarios as one JSON object.")
@click.option("--all", "everything", is_flag=True, help=f"List all scenarios instead of the first {SHOWN}.")
@click.option("--skip-unavailable", is_flag=True, help="Leave out clients that can't be started here, as in `run`.")
@no_commands_option
def plan(study_file: str, json_: bool, everything: bool, skip_unavailable: bool, no_commands: bool) -> None:
    """List the factors and scenarios of STUDY, and estimate how long a run will take.

    STUDY is a YAML or JSON study, or a ResilienceBench JSON file. Nothing is started.
    """
    text = read_text(study_file)
    study = loads(text, study_file)
    with placed(text, study_file):
        inputs = Inputs(Path(study_file).resolve().parent)
        expanded = preflight.expanded(study, inputs)
        if skip_unavailable:
            expanded = _available(study, expanded)
        _check(study, expanded, inputs, no_commands)
    for sentence in inspection.warnings_of(parse_study(text, study_file)):
        output.note(sentence)
    if json_:
        starts = starts_of(study, expanded, Changeovers(study, inputs), fewest(study.rounds))
        output.as_json(expanded.as_json() | described_part(study, expanded) | {"starts": counted(starts)})
    else:
        show(study, expanded, Changeovers(study, inputs), everything)
        for problem in [*preflight.lacking(study, inputs), *preflight.lacking_clients(study, expanded)]:
            output.note(f"before it can run: {problem.message}: {problem.hint}")


def _available(study: Study, expanded: Plan) -> Plan:
    """The plan without the clients that can't be started here, which are named."""
    left_out = preflight.cast_of(study, expanded, skip_unavailable=True).left_out
    for client, why in left_out.items():
        output.note(f"left out: client {client}: {why}")
    return preflight.without(expanded, left_out)


def _check(study: Study, expanded: Plan, inputs: Inputs, no_commands: bool) -> None:
    """Raise InputError with all problems of a study that can be found without starting a system or a client.

    If the load engine is built, it checks its jobs, without sending anything.
    """
    problems: list[Problem] = []
    if no_commands:
        with gathered(problems):
            inspection.refuse_commands(study)
    problems += preflight.asked_problems(study, expanded)
    with gathered(problems):
        problems += preflight.described_problems(study, expanded, inputs)
    problems += preflight.refused_by_engine(study, expanded, inputs, problems)
    if problems:
        raise InputError(problems)


def described_part(study: Study, expanded: Plan) -> dict[str, list[str]]:
    """The effects that a design confounds by leaving combinations out; nothing for a design with all of them."""
    if study.design.fraction is None and study.design.latin_hypercube is None:
        return {}
    aliases = fraction.aliasing([scenario.levels for scenario in expanded.scenarios])
    return {"aliasing": [f"{len(expanded.scenarios)} of {size(study)} combinations are run.", *aliases]}


def starts_of(study: Study, expanded: Plan, changeovers: Changeovers, rounds: int) -> list[Starts]:
    """The components to start before each round, with this many rounds per scenario and no failures."""
    scenarios = {scenario.id: scenario for scenario in expanded.scenarios}
    order = rounds_of(expanded.scenarios, rounds, study.seed, study.order, group=changeovers.group)
    return changeovers.starts(scenarios[round_.scenario] for round_ in order)


def _guess(study: Study, expanded: Plan, changeovers: Changeovers, rounds: int) -> str:
    """How long this many rounds per scenario take. The load engine warms up at the beginning of each."""
    clients = {scenario.client for scenario in expanded.scenarios}
    warm_up_s = {client: study.longest_warm_up.seconds for client in clients if choice.by_engine(study, client)}
    started = sum(map(bool, starts_of(study, expanded, changeovers, rounds)))
    executions = rounds + _passes(study)
    return output.seconds(estimate.seconds(expanded.scenarios, executions, warm_up_s, started))


def _passes(study: Study) -> int:
    """How often each scenario is executed outside the measured rounds."""
    return int(study.traces is not None and study.traces.counting_pass)


def _starts_sentence(starts: Sequence[Starts]) -> str:
    """How many rounds start components, and which components start more than once."""
    counts = counted(starts)
    again = ", ".join(f"{name} {count} times" for name, count in counts.items() if count > 1)
    rest = f": {again}, the others once" if again else ", each component once"
    return f"components are started before {sum(map(bool, starts))} of {len(starts)} rounds{rest}"


def _sentences(study: Study, expanded: Plan, changeovers: Changeovers) -> Iterator[str]:
    """Further facts of a plan, after its factors and scenarios."""
    if _passes(study):
        passes = len(expanded.scenarios)
        yield f"before its rounds, each scenario is executed once more to count its calls: {passes} counting passes"
    starts = starts_of(study, expanded, changeovers, fewest(study.rounds))
    if any(starts):
        yield _starts_sentence(starts)
    yield from (f"! {sentence}" for sentence in described_part(study, expanded).get("aliasing", []))
    yield from (f"! left out: {sentence}" for sentence in expanded.left_out)
    for client, words in inspection.commands(study.clients).items():
        yield f"! the study starts its author's command as client {client}: {' '.join(words)}"


def show(study: Study, expanded: Plan, changeovers: Changeovers, everything: bool) -> None:
    """Print a plan for people."""
    console = Plain()
    count = len(expanded.scenarios)
    least, most = fewest(study.rounds), largest(study.rounds)
    guess = _guess(study, expanded, changeovers, least)
    if most > least:
        guess += f" to {_guess(study, expanded, changeovers, most)}"
    rounds, total = (
        (str(least), str(count * least))
        if most == least
        else (f"{least} to {most}", f"{count * least} to {count * most}")
    )
    title = f": {count} scenarios x {rounds} rounds = {total} rounds"
    console.print(Text.assemble((study.name, "bold"), title))
    console.print(f"roughly {guess} (a guess: 20 ms per attempt, at most 600 attempts per second)")
    for sentence in _sentences(study, expanded, changeovers):
        console.print(sentence)
    longest = max((len(name) for name in expanded.factors), default=0)
    name = Column("factor", width=min(max(longest, len("factor")), console.width // 2))
    factors = Table(name, "role", "unit", "levels", box=None)
    for factor in expanded.factors.values():
        factors.add_row(factor.name, factor.role.value, factor.unit.value, ", ".join(map(str, factor.levels)))
    console.print(factors)
    listed = expanded.scenarios if everything else expanded.scenarios[:SHOWN]
    scenarios = Table("scenario", "levels", box=None)
    for scenario in listed:
        scenarios.add_row(scenario.id, described(scenario))
    console.print(scenarios)
    if len(listed) < count:
        console.print(f"... and {count - len(listed)} more (--all lists them)")
