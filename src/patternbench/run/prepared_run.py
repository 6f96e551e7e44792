"""From a study to a finished run's folder, at once or after a kill: the whole of ``run`` and ``resume``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from patternbench.drivers import choice
from patternbench.lab import systems
from patternbench.observe.registry import problems_of
from patternbench.plan.expand import Plan
from patternbench.plan.order import Round, counting_passes
from patternbench.plan.scenarios import Scenario
from patternbench.records import damage, stored
from patternbench.records import folder as files
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs, keep, kept
from patternbench.records.journal import Entry, RerunSelection
from patternbench.records.stored import Manifest, MeasuredCapacity, RunPlan, SimulatedWith
from patternbench.run.before import inspection, preflight
from patternbench.run.before.preflight import AvailableClients
from patternbench.run.before.reconfigurations import Reconfigurations
from patternbench.run.growth import first_rounds, grows, growth_of
from patternbench.run.lanes.places import HERE, LaneTask, MeasuresCapacity, Place, ReadyLanes
from patternbench.run.lanes.voiding import void_divided
from patternbench.run.manifest import manifest
from patternbench.run.round.orders import Orders
from patternbench.run.runner import Listener, Runner
from patternbench.run.single import capacity_of_run
from patternbench.run.stopping_early import saw_nothing
from patternbench.run.time_bound import TimeBound
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.load import StudyFile, loads
from patternbench.study.models import Study
from patternbench.study.text.files import read_text
from patternbench.study.workload import lengths
from patternbench.terms.problems import InputError, Problem, gathered

NONE_AGAIN = RerunSelection()
Choose = Callable[[Study, Plan, Inputs], Plan]
"""Leaves scenarios out of a study's plan."""


@dataclass(frozen=True)
class PreparedRun:
    """A run that is prepared: nothing is missing, and its folder is there.

    ``by_engine`` are the clients whose rounds the load engine drives.
    """

    study: Study
    plan: Plan
    rounds: list[Round]
    available: AvailableClients
    folder: RunFolder
    inputs: Inputs
    by_engine: frozenset[str]

    def todo(self, again: RerunSelection = NONE_AGAIN) -> list[Round]:
        """Return the rounds that the journal does not hold yet, and those that are to be run again."""
        entries = damage.rounds(self.folder)
        over = {entry.round for entry in entries if not again.wants(entry)}
        return [round_ for round_ in self.rounds if round_.index not in over]

    def counting(self, again: RerunSelection = NONE_AGAIN) -> list[Round]:
        """Give the counting passes that the study asks for, of which the journal holds none, and those to run again."""
        traces = self.study.watch.traces
        if traces is None or not traces.counting_pass:
            return []
        entries = damage.counting_passes(self.folder)
        over = {scenario for scenario, entry in entries.items() if not (again.wants(entry) or saw_nothing(entry))}
        passes = counting_passes(self.plan.scenarios, Reconfigurations(self.study, self.inputs).group)
        return [round_ for round_ in passes if round_.scenario not in over]

    def execute(
        self,
        listener: Listener,
        again: RerunSelection = NONE_AGAIN,
        place: Place = HERE,
        bound: TimeBound | None = None,
    ) -> list[Entry]:
        """Run what is still to do, within a time bound; returns all entries that count.

        The system is down when this returns or raises.
        """
        self.folder.lock()
        try:
            self.folder.sweep()
            bound = bound or TimeBound()
            self._know_capacity(place, listener)
            if self.todo(again) or self.counting(again) or grows(self.study):
                with place.ready(self._task(listener)) as lanes:
                    self._run(lanes, listener, again, bound)
            self._know_capacity(place, listener, over=not (self.todo() or bound.is_over))
            return damage.rounds(self.folder)
        finally:
            self.folder.unlock()

    def _know_capacity(self, place: Place, listener: Listener, over: bool = False) -> None:
        """Measure what shares are of, where that is due: before the rounds, and once more when they are `over`.

        The system is down meanwhile. Raises InputError where it can't be measured.
        """
        declared = capacity_of_run.needed(self.study, self.plan)
        due = capacity_of_run.lacking(self.study, self.plan, stored.manifest(self.folder).capacity, over)
        if declared is None or due is None:
            return
        found = self._capacity(declared, place)
        if found.rate is None and not over:
            hint = (
                "give it: `capacity: {rate: ...}`; or measure it in more `rounds` or of a longer `duration`, "
                "or change its `start`, `most` or `objective`"
            )
            raise InputError(Problem(f"could not be measured: {found.note}", "capacity", hint=hint))
        self._note("capacity", {due: found})
        listener.place_noticed(f"the capacity {due} the rounds is {found.words}")

    def _capacity(self, declared: DeclaredCapacity, place: Place) -> MeasuredCapacity:
        """Return the capacity, as it is given or measured now. Raises InputError where no one can measure it."""
        if declared.rate is None and isinstance(place, MeasuresCapacity):
            return place.capacity(self.study, self.plan, declared, self.inputs)
        if declared.rate is None and place is not HERE:
            hint = "measure it with `patternbench capacity`, and give it: `capacity: {rate: ...}`"
            raise InputError(Problem("isn't measured where lanes run rounds", "capacity", hint=hint))
        return capacity_of_run.measured(self.study, self.plan, declared, self.inputs)

    def _run(self, lanes: ReadyLanes, listener: Listener, again: RerunSelection, bound: TimeBound) -> None:
        """Have lanes run what is still to do, and what they had to void."""
        void_divided(self.folder, [*lanes.up(), *lanes.coming()], self.todo(again))
        coming = bound.in_time(self._coming(again, lambda: len(lanes.up()), listener.looked))
        first = next(coming, None)
        if first:
            runner = Runner(self.plan.scenarios, self.orders(), self.folder, listener, self._note)
            runner.run(chain([first], coming), lanes.executor)
        if lanes.divided:
            lanes.divided.clear()
            self._run(lanes, listener, NONE_AGAIN, bound)

    def _coming(
        self, again: RerunSelection, lanes: Callable[[], int], tell: Callable[[str], None]
    ) -> Iterator[Iterable[Round]]:
        """Return the rounds to come, in batches of which each begins when the one before is over."""
        group = Reconfigurations(self.study, self.inputs).group
        growth = growth_of(self.study, self.plan, self.folder, self.rounds, group=group, tell=tell)
        counting = self.counting(again)
        return chain([counting] if counting else [], growth.after(self.todo(again), lanes))

    def orders(self) -> Orders:
        """Return what makes the orders of its rounds."""
        noted = stored.manifest(self.folder)
        copied = {name: copy.sha256 for name, copy in noted.files.items()}
        known = noted.capacity.get(capacity_of_run.BEFORE)
        return Orders(self.study, copied, self.inputs.study_folder, self.by_engine, known.rate if known else None)

    def _task(self, listener: Listener) -> LaneTask:
        by_engine = self.by_engine.issuperset(scenario.client for scenario in self.plan.scenarios)
        return LaneTask(self.folder, by_engine, listener.round_progressed, self._note, listener.place_noticed)

    def _note(self, part: str, facts: Mapping[str, object]) -> None:
        """Add to a part of the manifest what only a run knows."""
        noted = stored.manifest(self.folder)
        stored.write_manifest(self.folder, noted.with_more(part, facts))


def begin(
    file: StudyFile,
    out: Path,
    skip_unavailable: bool,
    no_commands: bool = False,
    numbered: bool = False,
    *,
    choose: Choose = lambda _study, plan, _inputs: plan,
) -> PreparedRun:
    """Prepare a new run: everything that can be wrong is found here, before anything is measured.

    Its folder stays locked from its first file to the end of ``execute``. With ``numbered`` it gets a number behind its
    name where that is taken. ``choose`` may leave scenarios out, once nothing is wrong with any.
    """
    study = file.study()
    with file.placed():
        if no_commands:
            inspection.refuse_commands(study)
        prepared = _prepared(study, file.study_folder, out, skip_unavailable, choose)
    return begun(prepared, file, numbered)


def begun(
    prepared: PreparedRun, file: StudyFile, numbered: bool = False, simulated: SimulatedWith | None = None
) -> PreparedRun:
    """Make the folder of a run, with what it begins with; ``simulated`` says of one in simulated time with what."""
    private, out = inspection.holds_secrets(file.as_written), prepared.folder.path
    if numbered:
        prepared = replace(prepared, folder=RunFolder(files.unused(out)))
    with _locked_unless_raised(prepared.folder):
        prepared.folder.create(private)
        _write(prepared, file, private, simulated)
        return replace(prepared, inputs=_kept_inputs(prepared.folder, prepared.inputs.study_folder))


@contextmanager
def _locked_unless_raised(folder: RunFolder) -> Iterator[None]:
    """Let others write to a folder again if what is done with it raises."""
    try:
        yield
    except BaseException:
        folder.unlock()
        raise


def _prepared(study: Study, study_folder: Path, out: Path, skip_unavailable: bool, choose: Choose) -> PreparedRun:
    """Return a run whose drivers have said that they can do every round."""
    inputs, by_engine = Inputs(study_folder), choice.engine_clients(study)
    plan, available = _examined(study, inputs, skip_unavailable, by_engine)
    preflight.check_reach(study, inputs, out)
    plan = choose(study, plan, inputs)
    group = Reconfigurations(study, inputs).group
    rounds = first_rounds(study, plan, group)
    return PreparedRun(study, plan, rounds, available, RunFolder(out), inputs, by_engine)


def reopen(out: Path) -> PreparedRun:
    """Prepare to continue with a run: its study, plan and clients are those that it began with.

    Its folder is locked before its records are read, so that no one adds to them in between.
    """
    folder = RunFolder(out)
    folder.check()
    with _locked_unless_raised(folder):
        folder.lock()
        return _reopened(folder)


def _reopened(folder: RunFolder) -> PreparedRun:
    study = loads(read_text(folder.study), str(folder.study))
    noted = stored.manifest(folder)
    _refuse_simulated(folder, noted)
    inputs = _kept_inputs(folder, Path(noted.study_file).resolve().parent)
    _check_system_file(study, inputs, noted)
    by_engine = _engine_clients(study, noted)
    plan, available = _examined(study, inputs, bool(noted.left_out), by_engine)
    kept_plan = stored.plan(folder)
    plan = only_kept(plan, kept_plan) if study.design.screen else plan
    rounds = [Round(one.index, one.block, one.scenario) for one in kept_plan.rounds]
    if [scenario.id for scenario in kept_plan.scenarios] != [scenario.id for scenario in plan.scenarios]:
        hint = "continue it with the version of patternbench that began it"
        raise InputError(
            Problem("its plan differs from the current expansion of its study", file=str(folder.plan), hint=hint)
        )
    return PreparedRun(study, plan, rounds, available, folder, inputs, by_engine)


def only_kept(plan: Plan, kept_plan: RunPlan) -> Plan:
    """Return a plan with the scenarios alone that its run began with: a screen has left the others out."""
    ids = {scenario.id for scenario in kept_plan.scenarios}
    return replace(plan, scenarios=tuple(one for one in plan.scenarios if one.id in ids))


def _refuse_simulated(folder: RunFolder, noted: Manifest) -> None:
    """Raise InputError for a run in simulated time: rounds that are measured don't belong to it."""
    if noted.simulated is not None:
        hint = f"type `patternbench simulate STUDY --with {folder.model} --out NEW`, which takes seconds"
        raise InputError(Problem("was simulated, so no round of it can be measured", file=str(folder.path), hint=hint))


def _engine_clients(study: Study, noted: Manifest) -> frozenset[str]:
    """Return the clients whose rounds the load engine drives in a run, which keeps the drivers that it began with."""
    return choice.engine_clients_before(study) if noted.by_engine is None else frozenset(noted.by_engine)


def _check_system_file(study: Study, inputs: Inputs, noted: Manifest) -> None:
    """Raise InputError where the file that describes the system is not what it was when the run began, or is gone."""
    name = systems.own_name(study.system)
    kept_file = noted.files.get(name)
    if kept_file is None:
        return
    file, copy = inputs.study_folder / name, inputs.path(name)
    if not file.is_file():
        moved = f"if its folder was moved, type `ln -s NEW_PLACE {inputs.study_folder}`"
        hint = f"{moved}; if it was deleted, restore it ({copy})"
        message = "is no longer there, and it describes the system of this run"
        raise InputError(Problem(message, file=str(file), hint=hint))
    if files.digest(file) != kept_file.sha256:
        hint = f"restore it ({copy}), or begin a new run"
        message = "has changed since the run began, so further rounds would measure another system"
        raise InputError(Problem(message, file=str(file), hint=hint))


def _kept_inputs(folder: RunFolder, study_folder: Path) -> Inputs:
    """Return the run's own copies of the files that its study names."""
    return kept(folder, stored.manifest(folder).files, study_folder)


def _examined(
    study: Study, inputs: Inputs, skip_unavailable: bool, by_engine: frozenset[str]
) -> tuple[Plan, AvailableClients]:
    """Return the plan and the available clients. Raises InputError listing the problems of all checks."""
    plan, available = preflight.expanded(study, inputs), AvailableClients({}, {})
    problems = preflight.driver_problems(study, plan)
    with gathered(problems):
        available = preflight.available_clients(study, plan, skip_unavailable)
    plan = preflight.without(plan, available.left_out)
    with gathered(problems):
        problems += preflight.described_problems(study, plan, inputs)
        problems += preflight.system_problems(study, inputs)
        preflight.check_urls(study, inputs)
    problems += problems_of(study.watch)
    there = [scenario for scenario in plan.scenarios if scenario.client in by_engine | available.clients.keys()]
    problems += preflight.inexpressible(study, there, inputs, problems, by_engine)
    if problems:
        raise InputError(problems)
    return plan, available


def _write(prepared: PreparedRun, file: StudyFile, private: bool, simulated: SimulatedWith | None) -> None:
    """Write what a run begins with; what holds the secrets of its study is for the caller's eyes alone."""
    name = "study.json" if file.file.endswith(".json") else "study.yaml"
    files.write_text(prepared.folder.path / name, file.text, private)
    study_folder = prepared.inputs.study_folder
    system_file = systems.own_file(prepared.study.system, study_folder)
    copied = keep(prepared.folder, [*prepared.plan.files(), *filter(None, [system_file])], study_folder)
    noted = manifest(prepared.study, file.file, prepared.available.left_out, copied)
    noted = noted.model_copy(update={"by_engine": sorted(prepared.by_engine)})
    noted = noted.model_copy(update={"simulated": simulated}) if simulated else noted
    stored.write_manifest(prepared.folder, noted)
    stored.write_plan(prepared.folder, planned(prepared.plan, prepared.rounds, prepared.study), private)


def planned(plan: Plan, rounds: Iterable[Round], study: Study) -> RunPlan:
    """Return the plan of a run as its folder holds it."""
    scenarios = [{**one.as_json(), "length_s": _length_s(one, study)} for one in plan.scenarios]
    parts = {**plan.as_json(), "scenarios": scenarios, "rounds": [one.as_json() for one in rounds]}
    return RunPlan.model_validate(parts)


def _length_s(scenario: Scenario, study: Study) -> float | None:
    length = lengths.declared(scenario.workload, study.longest_warm_up)
    return length.seconds if length else None
