"""The base of the models of a study file: strictness, choices, and types of common fields."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError, core_schema

from patternbench.terms.roles import Unit
from patternbench.terms.units import Number
from patternbench.terms.urls import HOSTS, PATHS, encoded, sendable, url_mistake

Name = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9._-]*$", max_length=80)]
Users = Annotated[int, Field(ge=1, le=1_000_000)]
Count = Annotated[int, Field(ge=1, le=1_000_000_000)]
Multiplier = Annotated[Number, Field(ge=1, le=100)]
Share = Annotated[Number, Field(gt=0, le=1)]
Setting = str | int | float | bool
Status = Annotated[int, Field(ge=200, le=599)]
Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]

FASTEST = 10_000_000
_RATE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s?/\s?(s|m|h)")
_SECONDS = {"s": 1, "m": 60, "h": 3600}


def per_second(value: object) -> object:
    """Return a rate as a number per second. Values other than text are left to the field's own checks."""
    return rate_of(value) if isinstance(value, str) else value


def rate_of(text: str) -> float:
    """Return the rate per second of a text with its unit: ``120/m`` is 2. Raises ValueError for any other text."""
    match = _RATE.fullmatch(text.strip())
    if match is None:
        raise PydanticCustomError("rate", "is not a rate", {"allowed": "a number per second, or `500/s`, `120/m`, ..."})
    return float(match[1]) / _SECONDS[match[2]]


_AS_WRITTEN = WithJsonSchema(
    {
        "anyOf": [
            {"type": "number", "minimum": 0, "maximum": FASTEST},
            {"type": "string", "pattern": r"^\d+(\.\d+)? ?/ ?(s|m|h)$", "examples": ["500/s", "120/m"]},
        ]
    }
)
Rate = Annotated[Number, Field(ge=0, le=FASTEST), BeforeValidator(per_second), _AS_WRITTEN, Unit.RATE]
PositiveRate = Annotated[Number, Field(gt=0, le=FASTEST), BeforeValidator(per_second), _AS_WRITTEN, Unit.RATE]
"""Per second: a number, or text with its unit (``120/m``)."""


class FileName(str):
    """The name of a file, relative to the study's folder. It is a type, so that a study's files can be listed."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(cls, core_schema.str_schema(min_length=1, strict=True))


class Model(BaseModel):
    """Strict and closed: no unknown key, no silent conversion."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    def omits(self, name: str) -> bool:
        """Whether a field isn't part of the configuration. An optional field left open is part of it (as null)."""
        return False


class OneOf(Model):
    """A model of which exactly one field is given, such as a strategy of one kind."""

    @model_validator(mode="after")
    def _exactly_one(self) -> OneOf:
        chosen = [name for name in type(self).choices() if getattr(self, name) is not None]
        if len(chosen) != 1:
            stated = f"{' and '.join(chosen)} are given together" if chosen else "none is given"
            allowed = "exactly one of " + ", ".join(map(written, type(self).choices()))
            raise PydanticCustomError("one_of", "{said}", {"said": stated, "allowed": allowed})
        return self

    @classmethod
    def choices(cls) -> list[str]:
        """Return the names of the fields of which one must be given."""
        return list(cls.model_fields)

    @property
    def kind(self) -> str:
        """The name of the field that is given."""
        return next(name for name in type(self).choices() if getattr(self, name) is not None)

    @property
    def chosen(self) -> Any:
        """The given choice."""
        return getattr(self, self.kind)

    def omits(self, name: str) -> bool:
        """Return a choice that isn't taken isn't part of a configuration."""
        return getattr(self, name) is None


class Sparse(Model):
    """A model whose fields, if left open, aren't part of a configuration."""

    def omits(self, name: str) -> bool:
        """Whether the field is left open."""
        return getattr(self, name) is None


def written(name: str) -> str:
    """Return a field's name as a study writes it: ``json`` for a field that Python must call ``json_``."""
    return name.rstrip("_")


def _each_once(headers: dict[str, str]) -> dict[str, str]:
    spelled: dict[str, str] = {}
    for name in headers:
        other = spelled.setdefault(name.lower(), name)
        if other != name:
            message = "says one header twice: {one} and {other}"
            context = {"one": other, "other": name, "allowed": "each header once, however it is spelled"}
            raise PydanticCustomError("headers", message, context)
    return headers


Headers = Annotated[dict[str, str], AfterValidator(_each_once)]
"""The headers of a request by name, of which upper and lower case mean the same."""


def askable(url: str) -> str:
    """Refuse a URL that can't be requested; placeholders in it are filled in later."""
    mistake = url_mistake(url)
    if mistake:
        raise PydanticCustomError("host", "{mistake}", {"mistake": mistake, "allowed": HOSTS})
    return url


def sent_as_written(path: str) -> str:
    """Refuse a path that can't be sent as it is written, and say how it would be."""
    if not sendable(path):
        context = {"allowed": f"{PATHS}: `{encoded(path)}`"}
        raise PydanticCustomError("path", "can't be sent as it is written", context)
    return path


def misplaced(name: str, kind: str, allowed: str = "") -> PydanticCustomError:
    """Return the error for a field that does not go with another."""
    context = {"name": name, "kind": kind} | ({"allowed": allowed} if allowed else {})
    return PydanticCustomError("misplaced", "{name} does not go with {kind}", context)
