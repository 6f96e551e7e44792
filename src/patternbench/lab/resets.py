"""How a system file says that a component is reset between rounds, for any kind."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, cast

from pydantic import BaseModel, ConfigDict, Field

from patternbench.lab.host.calls import Call
from patternbench.lab.host.launch import FreshStart, Preparation, Reset
from patternbench.study.load import validated
from patternbench.study.text.document import Document
from patternbench.terms.problems import InputError, Problem, did_you_mean

Words = Mapping[str, tuple[Reset, ...]]
OF_EVERY_KIND: Words = {"restart": (FreshStart(),), "none": ()}
CLOSED = ConfigDict(extra="forbid", frozen=True)


class ResetByCall(BaseModel):
    """A reset that the component carries out when it is called."""

    model_config = CLOSED
    call: Call

    @property
    def reset(self) -> Reset:
        """The reset that a host carries out."""
        return self.call


class ResetByCommand(BaseModel):
    """A reset by a command that is run to its end."""

    model_config = CLOSED
    command: Annotated[tuple[str, ...], Field(min_length=1)]

    @property
    def reset(self) -> Reset:
        """The reset that a host carries out."""
        return Preparation(self.command)


FORMS: Mapping[str, type[ResetByCall] | type[ResetByCommand]] = {"call": ResetByCall, "command": ResetByCommand}


def resets_of(stated: object, own: Words, path: str) -> tuple[Reset, ...]:
    """Return the resets that ``stated`` names: a word, a call, a command, or a list of them.

    ``own`` are the words of the component's kind. Raises InputError listing all that is wrong, at ``path``.
    """
    words = {**OF_EVERY_KIND, **own}
    parts = stated if isinstance(stated, list) else [stated]
    problems = [problem for part in parts for problem in _problems(part, words, path)]
    if problems:
        raise InputError(problems)
    return tuple(reset for part in parts for reset in _resets(part, words))


def _problems(part: object, words: Words, path: str) -> Iterator[Problem]:
    try:
        _resets(part, words)
    except InputError as error:
        yield from (problem.below(path) for problem in error.problems)


def _resets(part: object, words: Words) -> tuple[Reset, ...]:
    if isinstance(part, str) and part in words:
        return words[part]
    form = FORMS.get(next(iter(part))) if isinstance(part, dict) and len(part) == 1 else None
    if form is None:
        raise InputError(_not_a_reset(part, words))
    return (cast("ResetByCall | ResetByCommand", validated(form, Document("", part))).reset,)


def _not_a_reset(part: object, words: Words) -> Problem:
    allowed = f"{', '.join(words)}, {{call: {{method, url}}}}, {{command: [program, ...]}}, or a list of them"
    hint = did_you_mean(part, words) if isinstance(part, str) else ""
    return Problem("is not a reset of this kind of component", value=part, allowed=allowed, hint=hint)
