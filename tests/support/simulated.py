"""Models and studies of the calibrated target for simulated time, and runs that were made with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from patternbench.plan.expand import expand
from patternbench.records import damage, seals, stored
from patternbench.records.folder import RunFolder
from patternbench.records.held_out import HeldOut, covering
from patternbench.records.journal import Entry, Journal
from patternbench.records.stored import Manifest
from patternbench.simulation import model_file, prepared
from patternbench.simulation.model_file import ModelFile
from patternbench.simulation.place import SimulatedPlace
from patternbench.simulation.scratch_runs import SilentListener
from patternbench.study.load import StudyFile, loads
from patternbench.terms.nearness import Nearness

MODEL = """\
patternbench-model: 1
name: target
system: target
network: 100us
entry: target
services:
  target:
    workers: 4
    times: {exponential: 5ms}
"""
STUDY = """\
patternbench: 1
name: by-load
system: target
rounds: 3
warm_up: 1s
workload: {open: {rate: [100, 300, 500, 700], spacing: poisson, duration: 5s}, request: {path: /bytes/10, timeout: 1s}}
strategies: [{client: native, baseline: {}}, {client: native, retry: {max_attempts: 3, backoff: {fixed: {delay: 9ms}}}}]
"""
DECIDED = STUDY + "recommend: {objectives: [minimise p95], subject_to: [failure_rate <= 5%]}\n"


def model(folder: Path, text: str = MODEL) -> ModelFile:
    """The model of a text, as a file in a folder."""
    file = folder / "model.yaml"
    file.write_text(text)
    return model_file.read(file)


def checked(model_of: ModelFile, held_out: HeldOut) -> ModelFile:
    """The same model with a check, as a text that says so."""
    with_check = model_of.model.model_copy(update={"held_out": held_out})
    return ModelFile(model_of.file, model_file.as_text(with_check), with_check)


def verdicts(nearness: Nearness, *responses: str) -> HeldOut:
    """A check of the target in the scenarios of the study, with one word for these responses."""
    scenarios = [one.configuration for one in expand(loads(DECIDED, "study.yaml")).scenarios]
    words = dict.fromkeys(responses, nearness)
    return HeldOut(rule="as a test says", rounds=6, verdicts=words, scenarios=[], covers=covering(scenarios))


def simulate(study: str, model_of: ModelFile, out: Path, cores: int = 2) -> tuple[RunFolder, list[Entry]]:
    """A run of a study in simulated time, and its rounds."""
    file = out.parent / f"{out.name}.yaml"
    file.write_text(study)
    run = prepared.begin(StudyFile.read(file), model_of, out)
    entries = run.execute(SilentListener(), place=SimulatedPlace(model_of.model, cores))
    return run.folder, entries


def as_if_measured(run: RunFolder) -> RunFolder:
    """The same run without its mark: what a real one of a system that is exactly as its model says would be."""
    entries, noted = damage.entries(run), stored.manifest(run).as_json()
    noted.pop("simulated")
    stored.write_manifest(run, Manifest.model_validate(noted))
    return journaled(run, entries)


def journaled(run: RunFolder, entries: Sequence[Entry]) -> RunFolder:
    """The same run with a journal of these rounds, as their files are now."""
    run.journal.unlink()
    journal = Journal(run.journal, seals.of_run(run))
    for entry in entries:
        journal.append(entry)
    return run
