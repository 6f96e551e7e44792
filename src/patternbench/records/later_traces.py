"""How near a model was to later traces of the same system: the file and its rules.

A model carries it (``later`` of ``model.yaml``), and a run in simulated time has a copy of it (``later-traces.json``),
which its report shows. It says whether the model still is the system as it was. It never says that a change is right,
so that nothing may be recommended by it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from patternbench.records import sealed_files, stored
from patternbench.records.folder import RunFolder
from patternbench.records.held_out import Word
from patternbench.study.load import dotted
from patternbench.study.model.parts import Model
from patternbench.study.model.tree import plain
from patternbench.terms.nearness import Nearness
from patternbench.terms.problems import InputError, Problem

NOT_VALIDATED = "not validated"
"""What a change of a model is that was held against traces of the system as it was."""
LaterKind = Literal["end to end", "service", "calls"]
_HINT = "simulate the study again"
Number = Annotated[float, Field(allow_inf_nan=False)]


class LaterLine(Model):
    """A figure of later traces next to that of the model: of all requests, of a service, or of calls to another one.

    ``response`` is p50, p95 or p99 (seconds), or calls for each request that the caller handles. ``error`` and the ends
    of its interval are in percent of what was traced if ``relative``; null where there is too little to know.
    """

    kind: LaterKind
    name: str
    response: str
    relative: bool
    verdict: Word
    traced: Number | None = None
    predicted: Number | None = None
    error: Number | None = None
    low: Number | None = None
    high: Number | None = None


class LaterTraces(Model):
    """The check of a model against later traces: where they lay, how many requests in how many blocks, what came of it.

    ``verdicts`` are those of each response over all of a kind. ``left_out`` names services that too few requests
    reached. ``model_sha256`` is the hash of the model and of this check, by which a change is known.
    """

    traces: list[str]
    requests: Annotated[int, Field(ge=0)]
    blocks: Annotated[int, Field(ge=0)]
    verdicts: dict[str, Word]
    lines: list[LaterLine]
    left_out: list[str]
    model_sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")] | None = None

    def as_json(self) -> dict[str, object]:
        """Return it as plain data."""
        return plain(self)

    def unusable(self) -> Iterator[str]:
        """Yield where the model is no longer the system, in sentences without an end."""
        for one in self.lines:
            if one.verdict is Nearness.NOT_USABLE:
                yield f"on later traces of the system {one.response} of {one.name} was {Nearness.NOT_USABLE}"


class KeptLaterTraces(Model):
    """The check as a run keeps it, and whether its model was changed since."""

    changed: bool
    check: LaterTraces


def write(run: RunFolder, kept: KeptLaterTraces) -> None:
    """Write the check of a model next to the rounds that were simulated with it."""
    sealed_files.write(run.later_traces, plain(kept), _model_of(run))


def read(run: RunFolder) -> KeptLaterTraces | None:
    """Return the check of the model that a run was simulated with; None where there was none. Raises InputError."""
    if not run.later_traces.is_file():
        return None
    try:
        return KeptLaterTraces.model_validate(sealed_files.read(run.later_traces, _model_of(run), _HINT))
    except ValidationError as error:
        where = dotted(next(one.get("loc", ()) for one in error.errors()))
        raise InputError(Problem("is damaged", where, str(run.later_traces), hint=_HINT)) from None


def _model_of(run: RunFolder) -> str:
    """Return the hash of the model that a run was simulated with."""
    noted = stored.manifest(run).simulated if run.manifest.is_file() else None
    return noted.sha256 if noted else ""
