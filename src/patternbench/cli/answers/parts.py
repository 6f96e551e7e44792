"""What the answers of several commands are made of."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Level = str | int | float | bool | None
"""A level of a factor; null where the factor does not apply."""
Number = float | None
"""A number; null where it does not exist."""
Share = Annotated[float, Field(ge=0, le=1)]
Values = dict[str, JsonValue]


class CommandAnswer(BaseModel):
    """An answer, or a part of one: these fields and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class NoteAnswer(CommandAnswer):
    """Something that a reader has to know of the rest."""

    kind: str
    text: str


class ProblemAnswer(CommandAnswer):
    """What is wrong: where, which value, what is allowed and what to type; null where there is none."""

    file: str | None
    line: int | None
    path: str | None
    value: str | None
    message: str
    allowed: str | None
    hint: str | None


class ProblemsAnswer(CommandAnswer):
    """How every command with `--json` ends that could not do its work: exit code 2, and all that is wrong."""

    problems: list[ProblemAnswer]
