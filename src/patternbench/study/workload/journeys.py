"""The requests of users: a single one, or a journey of steps with templates, captures, expectations and polling."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Discriminator, Field, GetCoreSchemaHandler, JsonValue, Tag, model_validator
from pydantic_core import PydanticCustomError, core_schema

from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import (
    FileName,
    Headers,
    Method,
    Model,
    OneOf,
    Setting,
    Sparse,
    misplaced,
    sent_as_written,
)
from patternbench.terms.units import Duration, PositiveDuration

Text = str | int | float | bool
"""A value in a query, a form: written as text; ``${...}`` in it is filled in for every call."""
Parameter = int | float | bool | Annotated[str, Field(pattern=r"^[A-Za-z0-9._~-]+$", max_length=200)]
"""A level for ``${NAME}``: a number, or a text that means the same in a path, a query and a body."""
Weight = Annotated[int, Field(ge=0, le=1_000_000)]
PathText = Annotated[str, Field(pattern=r"^(/|\$\{)\S*$", max_length=8000), AfterValidator(sent_as_written)]
Statuses = Annotated[int, Field(ge=100, le=999)] | Annotated[str, Field(pattern=r"^[1-9][0-9]{2}-[1-9][0-9]{2}$")]
TIMEOUT = Duration.parse("10s")


class Reference(str):
    """A value given by a placeholder, such as ``${size}``. It is a type, so that a study's can be listed."""

    __slots__ = ()

    @classmethod
    def __get_pydantic_core_schema__(cls, _source: object, _handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        text = core_schema.str_schema(pattern=r"^\$\{[a-z][A-Za-z0-9_.-]*\}$", strict=True)
        return core_schema.no_info_after_validator_function(cls, text)

    @property
    def name(self) -> str:
        """Its name: that of a parameter, or ``setting.NAME``."""
        return self[2:-1]


class DurationReference(Reference):
    """A duration given by a placeholder, such as ``${pause}``."""

    __slots__ = ()


def _written_as(value: object) -> Literal["place", "duration"]:
    return "place" if isinstance(value, str) and value.startswith("${") else "duration"


Wait = Annotated[
    Annotated[Duration, Tag("duration")] | Annotated[DurationReference, Tag("place")], Discriminator(_written_as)
]
"""A duration, possibly none, or the place of one."""
Often = Annotated[int, Field(ge=1, le=10_000)]
ItemCount = Annotated[int, Field(ge=1, le=1_000_000)]
CapturedName = Annotated[str, Field(pattern=r"^[A-Za-z0-9_]+$", max_length=80)]
When = dict[str, Setting | Annotated[list[Setting], Field(min_length=1)]]
"""For settings of the system, and for parameters as ``parameters.NAME``: the level, or the levels, to have."""


class Request(Model):
    """The request that every call makes; values of the query may vary by themselves."""

    method: Levels[Method] = Levels.one("GET")
    path: Levels[Annotated[str, Field(pattern=r"^/\S*$", max_length=8000), AfterValidator(sent_as_written)]] = (
        Levels.one("/")
    )
    query: dict[str, Levels[Text]] | None = None
    headers: Headers = Field(default_factory=dict)
    body: str | None = None
    timeout: Levels[PositiveDuration] = Levels.one(TIMEOUT)

    def omits(self, name: str) -> bool:
        """Return a query left open isn't part of the configuration. All other fields are, as in version 1."""
        return name == "query" and self.query is None


class Expect(Sparse):
    """Which answers are good; all that is given must hold."""

    statuses: Annotated[list[Statuses], Field(min_length=1)] | None = None
    body_contains: str | None = None
    body_matches: str | None = None
    json_: Annotated[dict[str, object] | None, Field(alias="json")] = None
    has: list[str] | None = None
    count: dict[str, Annotated[int, Field(ge=0, le=1_000_000)] | Reference] | None = None


class Capture(OneOf):
    """A value of an answer that later steps may name: by JSONPath, header, regular expression or cookie."""

    json_: Annotated[str | None, Field(alias="json")] = None
    header: str | None = None
    regex: str | None = None
    cookie: str | None = None
    pick: Literal["first", "random", "all", "each"] | None = None

    @classmethod
    def choices(cls) -> list[str]:
        """Return the places of an answer that may have a value."""
        return ["json_", "header", "regex", "cookie"]

    @model_validator(mode="after")
    def _picked_of_several(self) -> Capture:
        if self.pick is not None and self.json_ is None:
            raise misplaced("pick", self.kind, "pick with json: only a JSONPath finds several values")
        return self


class Each(Sparse):
    """Take a step for each value of a captured list, as ``${item}``."""

    of: CapturedName
    at_most: Often | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"of": value} if isinstance(value, str) else value


class Items(Sparse):
    """How many items a call carries, and where its answer lists those that failed."""

    carried: Levels[ItemCount | Reference]
    failed: str | None = None

    @model_validator(mode="before")
    @classmethod
    def _from_count(cls, value: object) -> object:
        return value if isinstance(value, dict | Items) else {"carried": value}


class Entries(Sparse):
    """A list for placeholders, whose entries are filled in one by one."""

    count: Levels[Often | Reference] | None = None
    for_each: CapturedName | None = None
    at_most: Often | None = None
    of: JsonValue
    separator: str | None = None

    @model_validator(mode="after")
    def _so_many(self) -> Entries:
        if (self.count is None) == (self.for_each is None):
            allowed = "`count`, or `for_each` with the name of a captured list"
            raise PydanticCustomError("one_of", "needs either count or for_each", {"allowed": allowed})
        if self.at_most is not None and self.for_each is None:
            raise misplaced("at_most", "count", "at_most with for_each")
        return self


class Poll(Sparse):
    """Ask again until an answer is as wanted; the call ends with it, or fails at the limit."""

    method: Levels[Method] | None = None
    path: Levels[PathText]
    query: dict[str, Levels[Text]] | None = None
    headers: Headers | None = None
    every: Levels[PositiveDuration]
    limit: Levels[PositiveDuration]
    expect: Expect | None = None
    until: Expect


class UntilExpected(Sparse):
    """Send a step's request until its answer is as expected; the call ends with it, or fails at a limit."""

    every: Levels[Wait] | None = None
    limit: Levels[PositiveDuration]
    attempts: Levels[Often] | None = None


class Conditional(Sparse):
    """A step or a journey that may be limited to scenarios with some levels."""

    when: When | None = None


class Step(Conditional):
    """One call of a journey."""

    name: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    method: Levels[Method] | None = None
    path: Levels[PathText] = Levels.one("/")
    query: dict[str, Levels[Text]] | None = None
    headers: Headers | None = None
    body: str | None = None
    json_: Annotated[object, Field(alias="json")] = None
    form: dict[str, Levels[Text]] | None = None
    body_file: FileName | None = None
    timeout: Levels[PositiveDuration] = Levels.one(TIMEOUT)
    pause: Levels[Wait] | None = None
    repeat: Levels[Often | Reference] | None = None
    redirects: Levels[Annotated[int, Field(ge=0, le=20)]] | None = None
    expect: Expect | None = None
    capture: dict[str, Capture] | None = None
    poll: Poll | None = None
    until_expected: UntilExpected | None = None
    for_each: Each | None = None
    items: Items | None = None

    @model_validator(mode="after")
    def _often_in_one_way(self) -> Step:
        if self.for_each is not None and self.repeat is not None:
            raise misplaced("for_each", "repeat", "one of them: a step is repeated in one way")
        return self

    @model_validator(mode="after")
    def _one_end(self) -> Step:
        if self.poll is not None and self.until_expected is not None:
            raise misplaced("until_expected", "poll", "one of them: a call is repeated in one way")
        return self

    @model_validator(mode="after")
    def _one_body(self) -> Step:
        bodies = [name for name in ("body", "json", "form", "body_file") if _given(self, name)]
        if len(bodies) > 1:
            message = f"{' and '.join(bodies)} are given together"
            raise PydanticCustomError("one_of", message, {"allowed": "one of body, json, form, body_file"})
        return self


def _given(step: Step, name: str) -> bool:
    return getattr(step, "json_" if name == "json" else name) is not None


class Journey(Conditional):
    """Steps that a user takes one after another; a list of steps is a journey too."""

    weight: Levels[Weight] = Levels.one(1)
    cookies: bool | None = None
    on_failure: Levels[Literal["stop", "continue"]] | None = None
    steps: Annotated[list[Step], Field(min_length=1)]

    @model_validator(mode="before")
    @classmethod
    def _from_steps(cls, value: object) -> object:
        return {"steps": value} if isinstance(value, list) else value


class Feeder(Model):
    """A CSV file of values, a line for every journey: ``${feed.COLUMN}``."""

    file: FileName
    order: Levels[Literal["sequential", "random"]] = Levels.one("sequential")

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"file": value} if isinstance(value, str) else value
