"""Rounds in simulated time whose folder no one keeps: for the check of a model, and to screen a study."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from patternbench.drivers.choice import NATIVE
from patternbench.plan.expand import Plan
from patternbench.plan.order import Round
from patternbench.plan.scenarios import Scenario
from patternbench.records.folder import RunFolder
from patternbench.records.inputs import Inputs
from patternbench.records.journal import Entry
from patternbench.records.load_summaries import LoadProgress
from patternbench.records.stored import SimulatedWith
from patternbench.report.measures import measures
from patternbench.report.model import counting
from patternbench.run import prepared_run
from patternbench.run.before.preflight import AvailableClients
from patternbench.run.prepared_run import PreparedRun
from patternbench.simulation.model_file import SimulationModel
from patternbench.simulation.place import SimulatedPlace
from patternbench.study.load import StudyFile
from patternbench.study.models import Study


class SilentListener:
    """Listens to a run of which no one hears."""

    def round_started(self, scenario: Scenario) -> None:
        """Say nothing."""

    def round_progressed(self, progress: LoadProgress) -> None:
        """Say nothing."""

    def round_ended(self, entry: Entry) -> None:
        """Say nothing."""

    def place_noticed(self, sentence: str) -> None:
        """Say nothing."""

    def looked(self, sentence: str) -> None:
        """Say nothing."""


@dataclass(frozen=True)
class Rehearsal:
    """The scenarios of a study that are simulated, and the files that they need."""

    study: Study
    file: StudyFile
    plan: Plan
    inputs: Inputs

    def rounds(self, model: SimulationModel, count: int) -> pd.DataFrame:
        """Return ``count`` rounds of each scenario that are valid, in the form of the records. Raises InputError."""
        with TemporaryDirectory(prefix="patternbench-simulated-") as scratch:
            prepared = self._prepared(count, Path(scratch) / "run")
            prepared.execute(SilentListener(), place=SimulatedPlace(model))
            return counting(measures(prepared.folder).rounds)

    def _prepared(self, count: int, out: Path) -> PreparedRun:
        study = self.study.model_copy(update={"rounds": count, "boundary": None})  # no round is added to these
        places = [(block, one.id) for block in range(count) for one in self.plan.scenarios]
        rounds = [Round(index, block, scenario) for index, (block, scenario) in enumerate(places)]
        no_clients, by_engine = AvailableClients({}, {}), frozenset({NATIVE})
        run = PreparedRun(study, self.plan, rounds, no_clients, RunFolder(out), self.inputs, by_engine)
        return replace(prepared_run.begun(run, self.file, simulated=SimulatedWith(model="", sha256="")), study=study)
