"""One place where calls are guarded, as it was read: its policies, outermost first, each with its line."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from patternbench.configurations.reading.notes import NoteKind, ReadingNote, ReadingNotes
from patternbench.configurations.reading.section import FieldReader
from patternbench.study.text.nodes import FileLine, FileNode
from patternbench.study.workload.policies import Policy
from patternbench.terms.problems import InputError, Problem, did_you_mean
from patternbench.terms.units import Duration

Plain = str | int | float | bool
Fields = Mapping[str, object]
MOST_LISTED = 20


@dataclass(frozen=True)
class ReadPolicy:
    """A policy as a study writes it, and the line that says it."""

    policy: Policy
    written: object
    place: FileLine

    @property
    def kind(self) -> str:
        """The name of the policy."""
        return self.policy.kind


@dataclass(frozen=True)
class Layer:
    """One place where calls are guarded: a library's instance, a route, a location.

    ``settings`` are those of the system ``mesh``, for what a proxy does that no client does. ``repeats_any_method`` is
    the line of retries that don't ask whether a call may be made twice.
    """

    product: str
    name: str
    place: FileLine
    policies: tuple[ReadPolicy, ...] = ()
    settings: Mapping[str, Plain] = field(default_factory=dict)
    notes: tuple[ReadingNote, ...] = ()
    repeats_any_method: FileLine | None = None


@dataclass(frozen=True)
class LayerCandidate:
    """A layer that a file has, and how it is read."""

    name: str
    place: FileLine
    read: Callable[[], Layer]


def read_policies(kind: str, fields: object, section: FieldReader, at: FileNode) -> tuple[ReadPolicy, ...]:
    """Return a policy, or nothing where a value of it was not understood or is beyond what a study can say."""
    if section.failed:
        why = "is left out, since a value of it was not understood"
        section.notes.not_understood(at, why, f"the {kind} of `{at.path}`")
        return ()
    plain = written(fields)
    try:
        return (ReadPolicy(Policy.model_validate({kind: plain}), plain, at.place),)
    except ValidationError as error:
        why = f"is left out: {first_problem(error)}"
        section.notes.add(NoteKind.INEXPRESSIBLE, at, why, f"the {kind} of `{at.path}`")
        return ()


def first_problem(error: ValidationError) -> str:
    """Return what is wrong with the first field that a model refuses."""
    first = error.errors()[0]
    field_name = ".".join(str(part) for part in first.get("loc", ()) if isinstance(part, str))
    return f"`{field_name}` {first.get('msg', '')}" if field_name else first.get("msg", "")


def written(value: object) -> object:
    """Return a value as a study writes it: times as text, no field that is left open."""
    if isinstance(value, Duration):
        return str(value)
    if isinstance(value, Mapping):
        return {name: written(one) for name, one in value.items() if one is not None}
    return [written(one) for one in value] if isinstance(value, (list, tuple)) else value


def chosen(candidates: Sequence[LayerCandidate], product: str, names: Sequence[str]) -> LayerCandidate:
    """Return the candidate that is named, or the only one, of at least one.

    Raises InputError listing all of them otherwise.
    """
    fitting = [one for one in candidates if one.name in names] if len(candidates) > 1 else list(candidates)
    if len(fitting) == 1:
        return fitting[0]
    what = "several of them are named" if fitting else "it has to be said which is read"
    shown = ", ".join(f"`{one.name}` ({one.place})" for one in (fitting or candidates)[:MOST_LISTED])
    more = f" and {len(candidates) - MOST_LISTED} more" if len(candidates) > MOST_LISTED else ""
    near = next(filter(None, (did_you_mean(name, [one.name for one in candidates]) for name in names)), "")
    hint = near or f"type `--of {candidates[0].name}`"
    place = candidates[0].place
    message = f"{product} is configured {len(candidates)} times, and {what}"
    raise InputError(Problem(message, file=place.file, line=place.line, allowed=f"{shown}{more}", hint=hint))


__all__ = ["Layer", "LayerCandidate", "Plain", "ReadPolicy", "ReadingNotes", "chosen", "read_policies", "written"]
