"""From a study to a finished run's folder, at once or after a kill: the whole of ``run`` and ``resume``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from patternbench.drivers import choice
from patternbench.lab import systems
from patternbench.observe.registry import problems_of
from patternbench.plan.expand import Plan
from patternbench.plan.order import Round, counting_passes, rounds_of
from patternbench.records import damage, stored
from patternbench.records import folder as files
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs, keep, kept
from patternbench.records.journal import Again, Entry
from patternbench.records.stored import Manifest, RunPlan
from patternbench.run import inspection, preflight
from patternbench.run.changeovers import Changeovers
from patternbench.run.executor import LocalExecutor
from patternbench.run.manifest import manifest
from patternbench.run.orders import Orders
from patternbench.run.preflight import Cast
from patternbench.run.runner import Listener, Runner
from patternbench.run.stopping import Growth
from patternbench.study.evidence import fewest
from patternbench.study.files import read_text
from patternbench.study.load import loads, parse_study, placed
from patternbench.study.models import Study
from patternbench.study.problems import InputError, Problem, gathered

NONE_AGAIN = Again()


@dataclass(frozen=True)
class PreparedRun:
    """A run that is prepared: nothing is missing, and its folder is there."""

    study: Study
    plan: Plan
    rounds: list[Round]
    cast: Cast
    folder: RunFolder
    inputs: Inputs

    def todo(self, again: Again = NONE_AGAIN) -> list[Round]:
        """The rounds that the journal does not hold yet, and those that are to be run again."""
        entries = damage.rounds(self.folder)
        over = {entry.round for entry in entries if not again.wants(entry)}
        return [round_ for round_ in self.rounds if round_.index not in over]

    def counting(self, again: Again = NONE_AGAIN) -> list[Round]:
        """The counting passes that the study asks for, of which the journal holds none, and those to run again."""
        traces = self.study.watch.traces
        if traces is None or not traces.counting_pass:
            return []
        entries = damage.counting_passes(self.folder)
        over = {scenario for scenario, entry in entries.items() if not again.wants(entry)}
        passes = counting_passes(self.plan.scenarios, Changeovers(self.study, self.inputs).group)
        return [round_ for round_ in passes if round_.scenario not in over]

    def execute(self, listener: Listener, again: Again = NONE_AGAIN) -> list[Entry]:
        """Run what is still to do; returns all entries that count. The system is down when this returns or raises."""
        self.folder.lock()
        try:
            self.folder.sweep()
            group = Changeovers(self.study, self.inputs).group
            coming = Growth.of(self.study, self.plan, self.folder, self.rounds, group).after(self.todo(again))
            coming = chain(self.counting(again), coming)
            first = next(coming, None)
            if first:
                self._run(chain([first], coming), listener)
            return damage.rounds(self.folder)
        finally:
            self.folder.unlock()

    def orders(self) -> Orders:
        """Makes the orders of its rounds."""
        copied = stored.manifest(self.folder).files
        return Orders(self.study, {name: copy.sha256 for name, copy in copied.items()}, self.inputs.beside)

    def _run(self, todo: Iterable[Round], listener: Listener) -> None:
        """Have rounds run on this machine."""
        by_engine = all(choice.by_engine(self.study, scenario.client) for scenario in self.plan.scenarios)
        runner = Runner(self.plan.scenarios, self.orders(), self.folder, listener, self._note)
        with LocalExecutor(self.folder, by_engine, listener.round_progressed) as executor:
            runner.run(todo, executor)

    def _note(self, part: str, facts: dict[str, object]) -> None:
        """Add to a part of the manifest what only a run knows."""
        noted = stored.manifest(self.folder)
        stored.write_manifest(self.folder, noted.with_more(part, facts))


def begin(study_file: str, out: Path, skip_unavailable: bool, no_commands: bool = False) -> PreparedRun:
    """Prepare a new run: everything that can be wrong is found here, before anything is measured."""
    text = read_text(study_file)
    study = loads(text, study_file)
    with placed(text, study_file):
        if no_commands:
            inspection.refuse_commands(study)
        prepared = _prepared(study, Path(study_file).resolve().parent, out, skip_unavailable)
    private = inspection.holds_secrets(parse_study(text, study_file))
    prepared.folder.create(private)
    _write(prepared, text, study_file, private)
    return replace(prepared, inputs=_kept_inputs(prepared.folder, prepared.inputs.beside))


def _prepared(study: Study, beside: Path, out: Path, skip_unavailable: bool) -> PreparedRun:
    """A run whose drivers have said that they can do every round."""
    inputs = Inputs(beside)
    plan, cast = _examined(study, inputs, skip_unavailable)
    group = Changeovers(study, inputs).group
    rounds = rounds_of(plan.scenarios, fewest(study.rounds), study.seed, study.order, group=group)
    return PreparedRun(study, plan, rounds, cast, RunFolder(out), inputs)


def reopen(out: Path) -> PreparedRun:
    """Prepare to go on with a run: its study, plan and cast are those that it began with."""
    folder = RunFolder(out)
    folder.check()
    study = loads(read_text(folder.study), str(folder.study))
    noted = stored.manifest(folder)
    inputs = _kept_inputs(folder, Path(noted.study_file).resolve().parent)
    _check_system_file(study, inputs, noted)
    plan, cast = _examined(study, inputs, skip_unavailable=bool(noted.left_out))
    kept_plan = stored.plan(folder)
    rounds = [Round(one.index, one.block, one.scenario) for one in kept_plan.rounds]
    if [scenario.id for scenario in kept_plan.scenarios] != [scenario.id for scenario in plan.scenarios]:
        hint = "continue it with the version of patternbench that began it"
        raise InputError(
            Problem("its plan differs from the current expansion of its study", file=str(folder.plan), hint=hint)
        )
    return PreparedRun(study, plan, rounds, cast, folder, inputs)


def _check_system_file(study: Study, inputs: Inputs, noted: Manifest) -> None:
    """Raise InputError where the file that describes the system is not what it was when the run began."""
    name = systems.own_file(study.system, inputs.beside)
    kept_file = noted.files.get(name or "")
    if name and kept_file and files.digest(inputs.beside / name) != kept_file.sha256:
        hint = f"restore it ({inputs.path(name)}), or begin a new run"
        message = "has changed since the run began, so further rounds would measure another system"
        raise InputError(Problem(message, file=str(inputs.beside / name), hint=hint))


def _kept_inputs(folder: RunFolder, beside: Path) -> Inputs:
    """The run's own copies of the files that its study names."""
    return kept(folder, stored.manifest(folder).files, beside)


def _examined(study: Study, inputs: Inputs, skip_unavailable: bool) -> tuple[Plan, Cast]:
    """The plan and the available clients. Raises InputError listing the problems of all checks."""
    plan, cast = preflight.expanded(study, inputs), Cast({}, {})
    problems = preflight.asked_problems(study, plan)
    with gathered(problems):
        cast = preflight.cast_of(study, plan, skip_unavailable)
    plan = preflight.without(plan, cast.left_out)
    with gathered(problems):
        problems += preflight.described_problems(study, plan, inputs)
        problems += preflight.system_problems(study, inputs)
        preflight.check_urls(study, inputs)
    problems += problems_of(study.watch)
    by_engine = {scenario.client for scenario in plan.scenarios if choice.by_engine(study, scenario.client)}
    there = [scenario for scenario in plan.scenarios if scenario.client in by_engine | cast.clients.keys()]
    problems += preflight.inexpressible(study, there, inputs, problems)
    if problems:
        raise InputError(problems)
    return plan, cast


def _write(prepared: PreparedRun, text: str, study_file: str, private: bool) -> None:
    """Write what a run begins with; what holds the secrets of its study is for the caller's eyes alone."""
    name = "study.json" if study_file.endswith(".json") else "study.yaml"
    files.write_text(prepared.folder.path / name, text, private)
    beside = prepared.inputs.beside
    system_file = systems.own_file(prepared.study.system, beside)
    copied = keep(prepared.folder, [*prepared.plan.files(), *filter(None, [system_file])], beside)
    stored.write_manifest(prepared.folder, manifest(prepared.study, study_file, prepared.cast.left_out, copied))
    stored.write_plan(prepared.folder, planned(prepared.plan, prepared.rounds), private)


def planned(plan: Plan, rounds: Iterable[Round]) -> RunPlan:
    """The plan of a run as its folder holds it."""
    parts = {**plan.as_json(), "rounds": [one.as_json() for one in rounds]}
    return RunPlan.model_validate(parts)
