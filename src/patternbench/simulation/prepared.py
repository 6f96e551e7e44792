"""A run in simulated time, from its study and its model to its folder: the same files as those of a measured run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from patternbench.drivers import choice, simulated
from patternbench.drivers.choice import NATIVE
from patternbench.plan.expand import Plan
from patternbench.plan.order import by_system
from patternbench.records import held_out, later_traces
from patternbench.records.folder import RunFolder, write_text
from patternbench.records.inputs import Inputs
from patternbench.records.later_traces import KeptLaterTraces
from patternbench.records.stored import SimulatedWith
from patternbench.run import prepared_run
from patternbench.run.before import evidence, preflight
from patternbench.run.before.preflight import AvailableClients
from patternbench.run.growth import first_rounds
from patternbench.run.prepared_run import PreparedRun
from patternbench.simulation import model_file, refusals
from patternbench.simulation.model_file import ModelFile, SimulationModel
from patternbench.study.load import StudyFile
from patternbench.study.model.system import NamedSystem
from patternbench.study.models import Study
from patternbench.terms.problems import InputError, Problem, gathered


def begin(file: StudyFile, model: ModelFile, out: Path, numbered: bool = False) -> PreparedRun:
    """Prepare a run in simulated time: whatever the model can't simulate is refused here, and nothing is started.

    Its folder stays locked from its first file to the end of ``execute``. With ``numbered`` it gets a number behind its
    name where that is taken. Raises InputError.
    """
    study = unwatched(file.study())
    with file.placed():
        inputs = Inputs(file.study_folder)
        plan = preflight.expanded(study, inputs)
        check(study, plan, inputs, model)
    rounds = first_rounds(study, plan, by_system)
    no_clients = AvailableClients({}, {})
    prepared = PreparedRun(study, plan, rounds, no_clients, RunFolder(out), inputs, frozenset({NATIVE}))
    noted = SimulatedWith(model=model.model.name, sha256=model.sha256, file=str(Path(model.file).resolve()))
    made = prepared_run.begun(prepared, file, numbered, noted)
    keep_model(made.folder, model)
    return replace(made, study=study)


def keep_model(folder: RunFolder, model: ModelFile) -> None:
    """Keep the model of a run in its folder, and how far its predictions were off, also later; raises OSError."""
    write_text(folder.model, model.text)
    if model.model.held_out is not None:
        held_out.write(folder, model.model.held_out)
    kept = later_of(model.model)
    if kept is not None:
        later_traces.write(folder, kept)


def later_of(model: SimulationModel) -> KeptLaterTraces | None:
    """Return how near a model was to later traces, if it was held against some, and whether it was changed since."""
    if model.later is None:
        return None
    return KeptLaterTraces(changed=model_file.is_changed(model), check=model.later)


def check(study: Study, plan: Plan, inputs: Inputs, model: ModelFile) -> None:
    """Raise InputError with all that keeps a study from being simulated with a model."""
    problems: list[Problem] = []
    with gathered(problems):
        evidence.check(study, plan)
    problems += refusals.problems(study, plan, model.model)
    with gathered(problems):
        choice.check(plan.scenarios)
    with gathered(problems):
        placed = isinstance(study.system, NamedSystem)  # else the model alone says what there is
        problems += preflight.described_problems(study, plan, inputs, placed=placed)
    if not problems:
        refused = preflight.refused_by_engine(study, plan, inputs, problems)
        problems += [problem for problem in refused if not simulated.is_of_sockets(problem)]
    if problems:
        raise InputError(problems)


def unwatched(study: Study) -> Study:
    """Return a study without what observers would watch of a system that is there."""
    fields = type(study).model_fields
    nothing = {name: fields[name].get_default(call_default_factory=True) for name in refusals.unwatched(study)}
    return study.model_copy(update=nothing)
