"""``patternbench gate``: two versions of a service, measured in turn until it can tell whether the new one is worse."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import click

from patternbench import interrupts
from patternbench.analyze.compare.compare_json import comparison_json
from patternbench.analyze.compare.comparison import (
    Comparison,
    ComparisonOptions,
    changes_within_blocks,
    compare_with_baseline,
)
from patternbench.analyze.compare.gate import Condition, GateVerdict, judge, parse_condition, rounds_to_decide
from patternbench.analyze.compare.gated_error_rates import DRAWS, EFFECTS, GateRates, gate_rates
from patternbench.analyze.compare.words import change, interval
from patternbench.analyze.statements.family import together
from patternbench.analyze.statements.verdict import Verdict
from patternbench.analyze.stopping.looking import confidence_of_each, next_look, planned_looks
from patternbench.cli import output
from patternbench.cli.execution import Bar
from patternbench.cli.shared import bad_input_exits, factors, junit_option, tell_pipeline
from patternbench.lab import environment, revisions, startable, systems
from patternbench.lab.host.accounts import scratch
from patternbench.lab.host.processes import StartError
from patternbench.later import load_all
from patternbench.observe import registry
from patternbench.report.pipeline import of_gate
from patternbench.run import gating, prepared_run
from patternbench.run.prepared_run import PreparedRun
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError, Problem

RUNS = Path("runs")
UNDECIDED = 3
CONDITION = "p95 > +10%"
FEWEST, MOST = 6, 40
FACTOR = "system.url"
FEWEST_CHANGES = 3
COLOURS = {Verdict.FAIL: "red", Verdict.INCONCLUSIVE: "yellow", Verdict.PASS: "green"}


@dataclass(frozen=True)
class GateOptions:
    """What is asked of a gate: its conditions, how sure it must be, and how long it may measure."""

    conditions: tuple[Condition, ...]
    level: float
    most: int
    minutes: float

    @property
    def looks(self) -> tuple[int, ...]:
        """After how many blocks it looks."""
        return planned_looks(min(FEWEST, self.most), self.most)

    def strict(self, scenarios: int) -> float:
        """Return the confidence of each interval, so that all of all looks hold together."""
        each = confidence_of_each(self.level, self.looks[0], self.most)
        return together(each, scenarios * len(self.conditions))


@dataclass(frozen=True)
class GateLook:
    """What a look saw: the comparison, its verdicts, how many blocks there are, and how long one takes."""

    comparison: Comparison
    verdicts: tuple[GateVerdict, ...]
    blocks: int
    block_s: float

    @property
    def outcome(self) -> Verdict:
        """The verdict on all conditions together."""
        outcomes = {one.outcome for one in self.verdicts}
        found = (one for one in (Verdict.FAIL, Verdict.INCONCLUSIVE) if one in outcomes)
        return next(found, Verdict.PASS)

    @property
    def more_minutes(self) -> float | None:
        """How much longer measuring would decide, by how intervals get narrower; None where that isn't known."""
        needed = [rounds_to_decide(d, one.condition) for one in self.verdicts for d in one.undecided]
        if not needed or any(one is None for one in needed):
            return None
        return max(max(one for one in needed if one is not None) - self.blocks, 1) * self.block_s / 60


@click.command(epilog="Example: patternbench gate --base shop@main --head shop")
@click.option("--base", required=True, metavar="TARGET", help="The version that is there: URL, SYSTEM or SYSTEM@REV.")
@click.option("--head", metavar="TARGET", help="The new version [with --aa: another one of --base].")
@click.option("--fail-if", "conditions", multiple=True, metavar="CONDITION", help=f"Default: '{CONDITION}'.")
@click.option(
    "--study",
    "study_file",
    type=click.Path(path_type=Path),
    metavar="STUDY",
    help="Take its load, faults and strategies.",
)
@click.option("--path", default="/", help="The path to request, without --study [default: /].")
@click.option("--users", type=click.IntRange(1, 10_000), default=10, help="Users, without --study [default: 10].")
@click.option("--seconds", type=click.IntRange(1, 600), default=3, help="Of each round, without --study [default: 3].")
@click.option("--prepare", metavar="COMMAND", help="Carried out in each worktree of SYSTEM@REV first, to build it.")
@click.option("--minutes", type=click.FloatRange(0.1, 1440), default=15.0, help="Longest duration [default: 15].")
@click.option("--blocks", type=click.IntRange(FEWEST, 1000), default=MOST, help=f"Most blocks [default: {MOST}].")
@click.option("--level", type=click.FloatRange(0.5, 0.999), default=0.95, help="Confidence [default: 0.95].")
@click.option("--aa", is_flag=True, help="Measure --base against itself: how often this machine would be wrong.")
@click.option("--out", type=click.Path(path_type=Path), help="The run's folder [default: runs/gate-TIME].")
@click.option("--json", "json_", is_flag=True, help="Print everything as one JSON object.")
@junit_option
@bad_input_exits
def gate(
    *,
    base: str,
    head: str | None,
    conditions: tuple[str, ...],
    study_file: Path | None,
    path: str,
    users: int,
    seconds: int,
    prepare: str | None,
    minutes: float,
    blocks: int,
    level: float,
    aa: bool,
    out: Path | None,
    json_: bool,
    junit: Path | None,
) -> None:
    """Have two versions of a service up at once, and measure them in turn until it can tell.

    Rounds of both alternate in shuffled blocks, so that the noise of the machine falls on both. It looks after a number
    of blocks that grows, at intervals that hold together over all looks, and stops at the first look that decides.

    Exit codes: 0 passed, 1 failed, 2 a usage or input error, 3 it can't tell yet.
    """
    options = GateOptions(tuple(map(parse_condition, conditions or (CONDITION,))), level, blocks, minutes)
    source = StudyFile.read(str(study_file)) if study_file else gating.plain_study(path, users, seconds)
    interrupts.take()
    load_all()
    with _up(base, "--base", prepare) as one, _up(_other(base, head, aa), "--head", prepare) as other:
        file = gating.study_of_both(one, other, source, options.looks[0])
        folder = out or RUNS / f"{gating.NAME}-{time.strftime('%Y%m%d-%H%M%S')}"
        prepared = prepared_run.begin(file, folder, skip_unavailable=False, numbered=out is None)
        seen = _measured(prepared, one, options, json_)
    registry.derive(prepared.folder.path)
    _build(prepared)
    rates = _rates(prepared, one, options)
    tell_pipeline(f"{head or base} against {base}", of_gate(seen.verdicts), junit)
    _tell(prepared, seen, rates, json_)
    sys.exit({Verdict.PASS: 0, Verdict.FAIL: 1}.get(seen.outcome, UNDECIDED))


def _other(base: str, head: str | None, aa: bool) -> str:
    if head is None and not aa:
        raise InputError(Problem("is missing", "--head", hint="name the new version, or type --aa"))
    return base if head is None else head


@contextmanager
def _up(target: str, option: str, prepare: str | None) -> Iterator[str]:
    """Yield the URL of a target: of a service that runs, or of a system that is brought up."""
    if "://" in target:
        yield target.rstrip("/")
        return
    name, _, revision = target.partition("@")
    with ExitStack() as stack:
        place = stack.enter_context(scratch("patternbench-gate-"))
        folder = Path.cwd()
        if revision:
            folder = stack.enter_context(revisions.worktree(revision, place, prepare))
        system = systems.load(name, folder)
        startable.check_settings(system, {})
        startable.check_needs(system, {})
        own = stack.enter_context(scratch("patternbench-gate-"))
        try:
            running = stack.enter_context(environment.named(system, {}, own))
        except StartError as error:
            raise InputError(Problem(str(error), option, value=target)) from None
        yield running.endpoint


def _measured(prepared: PreparedRun, base: str, options: GateOptions, quiet: bool) -> GateLook:
    """Measure until a look decides, or the blocks or the time are over. Returns the last look."""
    begun = time.monotonic()
    while True:
        blocks = prepared.rounds[-1].block + 1
        bar = Bar(prepared.rounds, len(prepared.rounds) - len(prepared.todo()), quiet)
        with bar.shown:
            prepared.execute(bar)
        took = time.monotonic() - begun
        seen = _look(prepared, base, options, blocks, took / blocks)
        coming = next_look(blocks, options.looks[0], options.most)
        late = coming is not None and took + (coming - blocks) * seen.block_s > options.minutes * 60
        if seen.outcome is not Verdict.INCONCLUSIVE or coming is None or late:
            return seen
        gating.grow(prepared, coming)


def _look(prepared: PreparedRun, base: str, options: GateOptions, blocks: int, block_s: float) -> GateLook:
    from patternbench.report.build import finished_rounds  # noqa: PLC0415 - slow to import

    table = finished_rounds(prepared.folder).rows
    responses = tuple(dict.fromkeys(one.response for one in options.conditions))
    how = ComparisonOptions(options.strict(_pairs(prepared)), (), responses, factors(prepared.folder.path))
    comparison = compare_with_baseline(table, (f"{FACTOR}={base}",), how)
    return GateLook(comparison, judge(comparison, options.conditions), blocks, block_s)


def _rates(prepared: PreparedRun, base: str, options: GateOptions) -> list[GateRates]:
    """Return how often such a gate is wrong, with the scatter of the scenario that scatters most."""
    from patternbench.report.build import finished_rounds  # noqa: PLC0415 - slow to import

    condition = options.conditions[0]
    how = ComparisonOptions(by=(), responses=(condition.response,), factors=factors(prepared.folder.path))
    table = finished_rounds(prepared.folder).rows
    found = changes_within_blocks(table, (f"{FACTOR}={base}",), how, condition.response, condition.relative)
    enough = [changes for changes in found if len(changes) >= FEWEST_CHANGES]
    if not enough:
        return []
    worst = max(enough, key=lambda changes: float(changes.std()))
    effects = EFFECTS if condition.relative else EFFECTS[:1]
    level = options.strict(_pairs(prepared))
    return [gate_rates(worst, condition, options.looks, level, effect) for effect in effects]


def _build(prepared: PreparedRun) -> None:
    from patternbench.report.build import build  # noqa: PLC0415 - slow to import

    build(prepared.folder)


def _pairs(prepared: PreparedRun) -> int:
    return max(len(prepared.plan.scenarios) // 2, 1)


def _tell(prepared: PreparedRun, seen: GateLook, rates: Sequence[GateRates], json_: bool) -> None:
    if json_:
        output.as_json(_as_json(prepared, seen, rates))
        return
    for verdict in seen.verdicts:
        output.say(f"{verdict.outcome.upper()}: {verdict.condition.text}", COLOURS[verdict.outcome])
        for d in verdict.failing or verdict.undecided:
            output.say(f"  {d.scenario}: {change(d)}, {interval(d)}")
    if seen.outcome is Verdict.INCONCLUSIVE:
        output.say(_not_yet(seen))
    for sentence in _rate_words(rates):
        output.say(sentence)
    click.echo(f"{seen.blocks} blocks: {prepared.folder.path}")


def _not_yet(seen: GateLook) -> str:
    more = seen.more_minutes
    if more is None:
        return "can't tell yet, and how long it would take isn't known"
    return f"can't tell yet: about {max(math.ceil(more), 1)} more minutes would (--minutes, --blocks)"


def _rate_words(rates: Sequence[GateRates]) -> Iterator[str]:
    if not rates:
        return
    same, *others = rates
    yield (
        f"Simulated with rounds that scatter like these, a gate of the same thing against itself fails in "
        f"{same.failed:.1%} of {DRAWS:,} cases, passes in {same.passed:.1%}, and can't tell in {same.undecided:.1%}."
    )
    for one in others:
        yield f"  at a true {one.effect:+.0f} %: fails {one.failed:.1%}, passes {one.passed:.1%}"


def _as_json(prepared: PreparedRun, seen: GateLook, rates: Sequence[GateRates]) -> dict[str, object]:
    return {
        "outcome": str(seen.outcome),
        "run": str(prepared.folder.path),
        "blocks": seen.blocks,
        "more_minutes": seen.more_minutes,
        "error_rates": [one.as_json() for one in rates],
        **comparison_json(seen.comparison, seen.verdicts),
    }
