"""What ``plan`` says of a study that has no mistake: its scenarios, how long a run takes, and what it lacks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from rich.table import Column, Table
from rich.text import Text

from patternbench.cli import output
from patternbench.cli.output import described
from patternbench.cli.terminal import PlainConsole
from patternbench.drivers import choice
from patternbench.plan import estimate, fraction
from patternbench.plan.expand import Plan, size
from patternbench.plan.order import rounds_of
from patternbench.plan.repeats import bounds, repeated
from patternbench.plan.scenarios import Scenario
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs
from patternbench.run.before import inspection, preflight
from patternbench.run.before.reconfigurations import Reconfigurations, Starts, counted
from patternbench.run.round.warmth import WarmUpTime, warm_ups
from patternbench.study.boundary import Boundary
from patternbench.study.evidence import Rounds, UntilChosen
from patternbench.study.load import StudyFile
from patternbench.study.models import Study
from patternbench.terms.data_problems import plural
from patternbench.terms.problems import InputError, Problem, gathered


@dataclass(frozen=True)
class PlanOptions:
    """The options of ``plan``; ``listed`` is how many scenarios it lists, all without a number."""

    json_: bool
    listed: int | None
    skip_unavailable: bool
    spread: float | None
    scatter_of: Path | None
    no_commands: bool

    @property
    def scatter_given(self) -> bool:
        """Whether it is known how much rounds scatter."""
        return self.spread is not None or self.scatter_of is not None


def tell(file: StudyFile, study: Study, options: PlanOptions) -> None:
    """Print the plan of a study. Raises InputError where something in it can't be run."""
    with file.placed():
        inputs = Inputs(file.study_folder)
        expanded = preflight.expanded(study, inputs)
        if options.skip_unavailable:
            expanded = _available(study, expanded)
        _check(study, expanded, inputs, options.no_commands)
    for sentence in inspection.warnings_of(file.as_written):
        output.note(sentence)
    taken = _evidence(study, expanded, options)
    if options.json_:
        reconfigurations, (rounds, _) = Reconfigurations(study, inputs), bounds(study)
        once = repeated(study, expanded)
        starts = counted(starts_of(study, once, reconfigurations, rounds))
        more = {"starts": starts, "seconds": round(_guess_s(study, once, reconfigurations, rounds), 1)}
        output.as_json(expanded.as_json() | described_part(study, expanded) | more | taken.data)
    else:
        show(study, expanded, Reconfigurations(study, inputs), options.listed)
        for sentence in taken.sentences:
            output.say(sentence)
        for problem in [*preflight.lacking(study, inputs), *preflight.lacking_clients(study, expanded)]:
            output.note(f"before it can run: {problem.message}: {problem.hint}")


class _Evidence(NamedTuple):
    """What the claims of a study take, and its choices: as data, and in sentences."""

    data: dict[str, object]
    sentences: tuple[str, ...]


def _evidence(study: Study, expanded: Plan, options: PlanOptions) -> _Evidence:
    """Return what claims and choices take; a study without either does not wait for the statistics that say so."""
    chooses = isinstance(study.rounds, Rounds) and isinstance(study.rounds.until, UntilChosen)
    if not study.claims and not (chooses and options.scatter_of):
        _say_without_claims(options, chooses)
    parts = [_claims(study, expanded, options)] if study.claims else []
    parts += [_choices(study, expanded, options)] if chooses else []
    data = {name: value for part in parts for name, value in part.data.items()}
    return _Evidence(data, tuple(sentence for part in parts for sentence in part.sentences))


def _claims(study: Study, expanded: Plan, options: PlanOptions) -> _Evidence:
    """Return what the claims of a study take."""
    from patternbench.cli import claims  # noqa: PLC0415 - slow to import

    taken = claims.needed(study, expanded, options.scatter_of, options.spread)
    data: dict[str, object] = {"claims": [claims.as_json(one) for one in taken]}
    return _Evidence(data, tuple(claims.sentences(study, taken, options.scatter_given)))


def _choices(study: Study, expanded: Plan, options: PlanOptions) -> _Evidence:
    """Return what is expected of rounds that end once the choice is known."""
    from patternbench.cli import choices  # noqa: PLC0415 - slow to import

    rule = choices.choice_rule_of(study)
    if rule is None:
        return _Evidence({}, ())
    found = choices.expected(study, expanded, options.scatter_of) if options.scatter_of else None
    return _Evidence({"choices": choices.as_json(rule, found)}, tuple(choices.sentences(rule, found)))


def _say_without_claims(options: PlanOptions, chooses: bool) -> None:
    """Note that a scatter that was given is for no claim. Raises InputError for a folder that isn't a run's."""
    if options.scatter_of is not None:
        RunFolder(options.scatter_of).check()
    if options.scatter_given:
        only = "--spread" if chooses else "--from or --spread"
        output.note(f"the study has no `claims`, so there is nothing that {only} says the rounds of")


def _available(study: Study, expanded: Plan) -> Plan:
    """Return the plan without the clients that can't be started here, which are named."""
    left_out = preflight.available_clients(study, expanded, skip_unavailable=True).left_out
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
    problems += preflight.driver_problems(study, expanded)
    with gathered(problems):
        problems += preflight.described_problems(study, expanded, inputs)
    problems += preflight.refused_by_engine(study, expanded, inputs, problems)
    if problems:
        raise InputError(problems)


def _searched_words(boundary: Boundary, doses: int) -> str:
    """Say what is searched."""
    low, high = boundary.between
    return f"each scenario is one of {doses} doses of {boundary.over}, from {low} to {high}: the middle one is listed"


def described_part(study: Study, expanded: Plan) -> dict[str, list[str]]:
    """Return the effects that a design confounds by leaving combinations out; nothing for a design with all of them."""
    if study.design.fraction is None and study.design.latin_hypercube is None:
        return {}
    aliases = fraction.aliasing([scenario.levels for scenario in expanded.scenarios])
    return {"aliasing": [f"{len(expanded.scenarios)} of {size(study)} combinations are run.", *aliases]}


def starts_of(study: Study, expanded: Plan, reconfigurations: Reconfigurations, rounds: int) -> list[Starts]:
    """Return the components to start before each round, with this many rounds per scenario and no failures."""
    return reconfigurations.starts(_in_order(study, expanded, reconfigurations, rounds))


def _in_order(study: Study, expanded: Plan, reconfigurations: Reconfigurations, rounds: int) -> list[Scenario]:
    """Return the scenario of each round."""
    scenarios = {scenario.id: scenario for scenario in expanded.scenarios}
    order = rounds_of(expanded.scenarios, rounds, study.seed, study.order, group=reconfigurations.group)
    return [scenarios[round_.scenario] for round_ in order]


def _guess(study: Study, expanded: Plan, reconfigurations: Reconfigurations, rounds: int) -> str:
    return output.seconds(_guess_s(study, expanded, reconfigurations, rounds))


def _guess_s(study: Study, expanded: Plan, reconfigurations: Reconfigurations, rounds: int) -> float:
    """Return how long this many rounds per scenario take, with the warm-ups that they get, in seconds."""
    executions = rounds + _passes(study)
    order = _in_order(study, expanded, reconfigurations, rounds)
    starts = reconfigurations.starts(order)
    by_engine = not choice.engine_clients(study).isdisjoint(scenario.client for scenario in order)
    clients = (scenario.client for scenario in order)
    planned = warm_ups(zip(clients, starts, strict=True), by_engine, study.longest_warm_up)
    warmed = sum(one is not WarmUpTime.NONE for one in planned)
    passes = len(expanded.scenarios) * _passes(study) if by_engine else 0
    started = sum(map(bool, starts))
    after_start_s = started * study.after_start.at_most.seconds if study.after_start else 0.0
    warming_s = (warmed + passes) * study.longest_warm_up.seconds + after_start_s
    return estimate.seconds(expanded.scenarios, executions, warming_s, started)


def _passes(study: Study) -> int:
    """How often each scenario is executed outside the measured rounds."""
    return int(study.traces is not None and study.traces.counting_pass)


def _starts_sentence(starts: Sequence[Starts]) -> str:
    """How many rounds start components, and which components start more than once."""
    counts = counted(starts)
    again = ", ".join(f"{name} {count} times" for name, count in counts.items() if count > 1)
    rest = f": {again}, the others once" if again else ", each component once"
    return f"components are started before {sum(map(bool, starts))} of {len(starts)} rounds{rest}"


def _sentences(study: Study, expanded: Plan, reconfigurations: Reconfigurations) -> Iterator[str]:
    """Further facts of a plan, after its factors and scenarios."""
    if _passes(study):
        passes = len(expanded.scenarios)
        yield f"before its rounds, each scenario is executed once more to count its calls: {passes} counting passes"
    starts = starts_of(study, expanded, reconfigurations, bounds(study)[0])
    if any(starts):
        yield _starts_sentence(starts)
    if study.design.screen:
        keep = study.design.screen.keep
        yield f"a screen simulates all scenarios, and at most {keep} of them are measured"
    yield from (f"! {sentence}" for sentence in described_part(study, expanded).get("aliasing", []))
    yield from (f"! left out: {sentence}" for sentence in expanded.left_out)
    for client, words in inspection.commands(study.clients).items():
        yield f"! the study starts its author's command as client {client}: {' '.join(words)}"


def show(study: Study, expanded: Plan, reconfigurations: Reconfigurations, most: int | None) -> None:
    """Print a plan for people, with ``most`` of its scenarios, or with all of them."""
    console = PlainConsole()
    doses = len(expanded.scenarios)
    expanded = repeated(study, expanded)
    count = len(expanded.scenarios)
    least, greatest = bounds(study)
    guess = _guess(study, expanded, reconfigurations, least)
    if greatest > least:
        guess += f" to {_guess(study, expanded, reconfigurations, greatest)}"
    rounds, total = (
        (str(least), str(count * least))
        if greatest == least
        else (f"{least} to {greatest}", f"{count * least} to {count * greatest}")
    )
    each = "round" if rounds == "1" else "rounds"
    title = f": {plural(count, 'scenario')} x {rounds} {each} = {total} {'round' if total == '1' else 'rounds'}"
    console.print(Text.assemble((study.name, "bold"), title))
    if study.boundary is not None:
        console.print(_searched_words(study.boundary, doses // count))
    console.print(f"roughly {guess} (a guess: 20 ms per attempt, at most 600 attempts per second)")
    for sentence in _sentences(study, expanded, reconfigurations):
        console.print(sentence)
    longest = max((len(name) for name in expanded.factors), default=0)
    name = Column("factor", width=min(max(longest, len("factor")), console.width // 2))
    factors = Table(name, "role", "unit", "levels", box=None)
    for factor in expanded.factors.values():
        factors.add_row(factor.name, factor.role.value, factor.unit.value, ", ".join(map(str, factor.levels)))
    console.print(factors)
    listed = expanded.scenarios[:most]
    scenarios = Table("scenario", "levels", box=None)
    for scenario in listed:
        scenarios.add_row(scenario.id, described(scenario))
    console.print(scenarios)
    if len(listed) < count:
        console.print(f"... and {count - len(listed)} more (--all lists them)")
