"""What a screen left of a study's scenarios, and what the model said of those that it kept: ``screen.json``."""

from __future__ import annotations

from pydantic import ValidationError

from patternbench.records import sealed_files, seals
from patternbench.records.folder import RunFolder
from patternbench.study.load import dotted
from patternbench.study.model.parts import Model
from patternbench.study.model.tree import plain
from patternbench.terms.problems import InputError, Problem

_HINT = "restore it from a copy of the run"


class KeptScenario(Model):
    """A scenario that a screen kept, and the means of its simulated rounds."""

    scenario: str
    predicted: dict[str, float | None]


class ScreenRecord(Model):
    """A screen: the model by its file's SHA-256, what it decided by, how many scenarios it saw, and which it kept.

    ``objective`` is the response that decided, and ``minimise`` whether less of it is better. ``rounds`` is how many
    rounds of each scenario were simulated.
    """

    model: str
    sha256: str
    objective: str
    minimise: bool
    rounds: int
    scenarios: int
    kept: list[KeptScenario]


def write(run: RunFolder, record: ScreenRecord) -> None:
    """Write what a screen did next to the plan that it left."""
    sealed_files.write(run.screen, plain(record), seals.of_run(run)[seals.PLAN])


def read(run: RunFolder) -> ScreenRecord | None:
    """Return what a screen did before a run; None where there was none. Raises InputError."""
    if not run.screen.is_file():
        return None
    try:
        return ScreenRecord.model_validate(sealed_files.read(run.screen, seals.of_run(run)[seals.PLAN], _HINT))
    except ValidationError as error:
        where = dotted(next(one.get("loc", ()) for one in error.errors()))
        raise InputError(Problem("is damaged", where, str(run.screen), hint=_HINT)) from None
