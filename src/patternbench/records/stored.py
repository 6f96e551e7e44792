"""A run's plan and manifest, read back and checked: their version, and the parts that others rely on."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from patternbench.records.folder import RunFolder, read_json
from patternbench.study.load import dotted
from patternbench.study.problems import InputError, Problem
from patternbench.study.roles import Role, Unit

HINT = "put it back from a copy of the run; its raw records (attempts, journal.jsonl) are as they were"


class _Scenario(BaseModel):
    id: str
    levels: dict[str, str | int | float | bool | None]
    config: dict[str, Any]


class _Round(BaseModel):
    index: int
    block: int
    scenario: str


class _Factor(BaseModel):
    name: str
    path: list[str]
    role: Role
    unit: Unit
    none: str | int | float | bool | None = None
    levels: list[str | int | float | bool | None]


class _Plan(BaseModel):
    factors: list[_Factor] | dict[str, list[Any]]
    scenarios: list[_Scenario]
    rounds: list[_Round]
    left_out: list[str] = []


class _Copy(BaseModel):
    sha256: str
    copied_to: Annotated[str, Field(alias="copy")]


class _Manifest(BaseModel):
    manifest: Literal[1]
    study: str
    study_file: str
    objective_s: float | None = None
    left_out: dict[str, str]
    files: dict[str, _Copy] = {}
    clients: dict[str, Any] = {}


def plan(run: RunFolder) -> dict[str, Any]:
    """The plan of a run: its factors, scenarios and rounds; raises InputError when the file is no whole plan."""
    return _checked(_Plan, read_json(run.plan), str(run.plan))


def manifest(run: RunFolder) -> dict[str, Any]:
    """The manifest of a run; raises InputError when the file is none of this version."""
    found = read_json(run.manifest)
    version = found.get("manifest") if isinstance(found, dict) else None
    if isinstance(version, int) and version != 1:
        hint = "read it with the version of patternbench that made it"
        raise InputError(Problem("is of another version", "manifest", str(run.manifest), None, version, "1", hint))
    return _checked(_Manifest, found, str(run.manifest))


def _checked(model: type[BaseModel], found: Any, file: str) -> dict[str, Any]:
    try:
        model.model_validate(found)
    except ValidationError as error:
        wrong = [(f"is damaged: {each['msg']}", dotted(each["loc"])) for each in error.errors()]
        raise InputError([Problem(message, path, file, hint=HINT) for message, path in wrong]) from None
    assert isinstance(found, dict)
    return found
