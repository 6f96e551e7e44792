"""The study that answers from which load a service recovers: a trigger in each round, and a search."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from patternbench.study import forms
from patternbench.study.faults import KINDS
from patternbench.study.faults.kind import ShareKind, Spot
from patternbench.study.load import StudyFile
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import Duration

OPTION = "--recovers-from"
EXAMPLE = "such as `freeze 2s`, `crash 1s at shop`, or `refuse 500ms`"
_TRIGGER = re.compile(r"\s*([a-z_]+)(?:\s+([0-9][0-9.]*\s?(?:us|ms|s|m)))?(?:\s+at\s+(\S+))?\s*")
_USUAL = Duration.parse("2s")
_BEFORE_S, _AFTER_S, _TIMES = 8, 20, 10
"""How long calls run before the trigger; after it as long, or as many times its length."""
_LOADS = ("20 %", "100 %", "5 points")
_LENGTHS = ("200ms", "8s", "500ms")
"""The least and the greatest dose of a search, and its half width: shares of the capacity, lengths of the trigger."""
_LONGEST_S = 8
_OWN = (
    "faults",
    "boundary",
    "capacity",
    "rounds",
    "claims",
    "models",
    "recommend",
    "derived",
    "design",
    "quick",
    "form",
)
"""Fields that the answer has of its own, or has no use for."""
_ARRIVALS = ("rate", "schedule", "arrivals", "duration")


@dataclass(frozen=True)
class Trigger:
    """A fault that ends by itself: its kind, how long it lasts, the component that it acts on (None for the edge)."""

    kind: str
    length: Duration
    where: str | None

    @classmethod
    def parse(cls, text: str) -> Trigger:
        """Return the trigger that a text such as ``freeze 2s`` names. Raises InputError."""
        match = _TRIGGER.fullmatch(text)
        kinds = [name for name, kind in KINDS.items() if _needs_no_more(kind)]
        if match is None or match[1] not in kinds:
            hint = did_you_mean(match[1], kinds) if match else ""
            allowed = f"one of {', '.join(kinds)} and how long it lasts, {EXAMPLE}"
            raise InputError(Problem("isn't a trigger", OPTION, value=text, allowed=allowed, hint=hint))
        return cls(match[1], Duration.parse(match[2]) if match[2] else _USUAL, match[3])

    def fault(self, of_a_url: bool) -> dict[str, object]:
        """Return it as a study's fault.

        The process behind a URL is not known: a frozen one is a link on which everything waits until the fault ends.
        """
        kind = "partition" if of_a_url and self.kind == "freeze" else self.kind
        settings = {"percentage": 100} if issubclass(KINDS[kind], ShareKind) else {}
        where = {"where": self.where} if self.where else {}
        return {kind: settings, **where, "when": {"from": f"{_BEFORE_S}s", "for": str(self.length)}}


def _needs_no_more(kind: type) -> bool:
    """Whether a kind of fault is complete with at most a percentage."""
    return {name for name, field in getattr(kind, "model_fields", {}).items() if field.is_required()} <= {"percentage"}


def study_of(file: StudyFile, trigger: Trigger, objective: str | None, at: float | None, most: int) -> StudyFile:
    """Return the study that searches a boundary: over the load, or at a load over the trigger's length.

    ``file`` is an open study, or that of a URL. ``objective`` is what the capacity keeps that shares are of.
    """
    written = forms.chosen(file.as_written).fields
    of_a_url = "://" in file.file
    fault = trigger.fault(of_a_url)
    _check_place(file, trigger, of_a_url)
    if at is not None:
        _check_length(trigger)
    base = {name: _by_proxy(value) if of_a_url and name == "system" else value for name, value in written.items()}
    base = {name: value for name, value in base.items() if name not in _OWN}
    kind = next(iter(fault))
    searched = _over_load(objective, most) if at is None else _over_length(kind, most)
    workload = _workload(written, trigger, at)
    study = {**base, "time_limit": "5m", "faults": [fault], "workload": workload, **searched}
    return StudyFile(file.file, json.dumps(study), file.study_folder)


def _by_proxy(system: object) -> object:
    """Return the system of a URL in the form that a fault proxy goes with: one URL, and not a list of one."""
    assert isinstance(system, dict)
    rest = {name: value for name, value in system.items() if name != "urls"}
    return {"url": next(iter(system.get("urls", ()))), **rest}


def _check_place(file: StudyFile, trigger: Trigger, of_a_url: bool) -> None:
    """Raise InputError for a trigger that acts on a component without naming one, or on one of a URL."""
    on_component = KINDS[trigger.kind].spot is Spot.COMPONENT
    if of_a_url and (trigger.where or (on_component and trigger.kind != "freeze")):
        hint = "give a study, whose components are known"
        raise InputError(Problem("acts on a component, and a URL has none", OPTION, value=trigger.kind, hint=hint))
    if not of_a_url and on_component and trigger.where is None:
        hint = f"write `{trigger.kind} {trigger.length} at COMPONENT`"
        raise InputError(Problem("names no component to act on", OPTION, file=file.file, hint=hint))


def _check_length(trigger: Trigger) -> None:
    """Raise InputError for a trigger that is over by itself, whose length can't be searched."""
    if KINDS[trigger.kind].over_by_itself:
        hint = "leave out --at, to search the load"
        raise InputError(
            Problem("is over by itself, and has no length to search", OPTION, value=trigger.kind, hint=hint)
        )


def _workload(written: Mapping[str, object], trigger: Trigger, at: float | None) -> dict[str, object]:
    """Return the workload of a round: open, at the load that is asked about, with time to recover."""
    workload = written.get("workload")
    opened = workload.get("open") if isinstance(workload, Mapping) else None
    if not isinstance(workload, Mapping) or not isinstance(opened, Mapping):
        raise InputError(Problem("has no rate to search", path="workload", allowed="`open`"))
    kept = {name: value for name, value in opened.items() if name not in _ARRIVALS}
    length_s = trigger.length.seconds if at is None else _LONGEST_S
    after_s = max(_AFTER_S, _TIMES * trigger.length.seconds)
    rate = {"share": "50 %"} if at is None else at
    arrivals = {**kept, "rate": rate, "duration": str(Duration(round((_BEFORE_S + length_s + after_s) * 1e6)))}
    return {**workload, "open": arrivals}


def _over_load(objective: str | None, most: int) -> dict[str, object]:
    capacity = {"objective": objective} if objective else {"duration": "5s"}
    return {"boundary": _boundary("open.rate", _LOADS, most), "capacity": capacity}


def _over_length(kind: str, most: int) -> dict[str, object]:
    return {"boundary": _boundary(f"{kind}.when.for", _LENGTHS, most)}


def _boundary(over: str, doses: tuple[str, str, str], most: int) -> dict[str, object]:
    low, high, half = doses
    return {"over": over, "between": [low, high], "until": {"half_width": half}, "max": most}
