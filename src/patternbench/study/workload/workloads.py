"""The workload: when calls begin, and what each call sends.

A closed workload with one request can be driven by any client; everything else only by the native engine.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.model.levels import Levels, only
from patternbench.study.model.parts import (
    Count,
    FileName,
    Headers,
    Model,
    Name,
    OneOf,
    PositiveRate,
    Rate,
    Sparse,
    Users,
    misplaced,
)
from patternbench.study.model.share import ShareOfCapacity, from_share
from patternbench.study.workload.journeys import Entries, Feeder, Journey, Parameter, Request, Step
from patternbench.terms.roles import Role, Unit
from patternbench.terms.units import Duration, Percentage, PositiveDuration

ALL_SHARES = 100
FILLED_IN = ("user", "call", "uuid", "round")
"""The words that the engine itself fills in."""


def _free(name: str) -> str:
    if name in FILLED_IN:
        message = "the load engine fills `${name}` in itself"
        raise PydanticCustomError("parameter", message, {"allowed": f"any name but {', '.join(FILLED_IN)}"})
    return name


ParameterName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=80), AfterValidator(_free)]
InFlight = Annotated[int, Field(ge=1, le=1_000_000)]


class Closed(OneOf):
    """A closed workload: each virtual user waits for its answer, then its think time."""

    users: Levels[Users]
    think_time: Levels[Duration] = Levels.one(Duration(0))
    start_over: Levels[Duration] | None = None
    successes: Levels[Count] | None = None
    requests: Levels[Count] | None = None
    journeys: Levels[Count] | None = None
    calls: Levels[Count] | None = None
    duration: Levels[PositiveDuration] | None = None
    max_attempts: Levels[Count] | None = None
    rejected_pause: Levels[PositiveDuration] = Levels.one(Duration.parse("1ms"))

    @classmethod
    def choices(cls) -> list[str]:
        """Its end: each user's successful calls, calls or journeys, the calls of all users together, or time."""
        return ["successes", "requests", "journeys", "calls", "duration"]

    @property
    def engine_needs(self) -> str | None:
        """The first of its fields that only the load engine knows."""
        names = ("requests", "journeys", "calls", "start_over")
        return next((name for name in names if getattr(self, name) is not None), None)

    def omits(self, name: str) -> bool:
        """Return an open limit of attempts is part of the configuration (as null), as it has been since version 1."""
        return name != "max_attempts" and super().omits(name)

    @model_validator(mode="after")
    def _attempts_limit_successes(self) -> Closed:
        if self.max_attempts is not None and self.successes is None:
            raise misplaced("max_attempts", self.kind, "max_attempts with successes, which might never be reached")
        return self


class Constant(Model):
    """The same rate all the time."""

    rate: Levels[PositiveRate]


class Poisson(Model):
    """Independent arrivals: exponential gaps, drawn from the round's seed."""

    rate: Levels[PositiveRate]


class Ramp(Model):
    """A rate that changes evenly, then stays."""

    from_: Annotated[Levels[Rate], Field(alias="from")]
    to: Levels[Rate]
    over: Levels[PositiveDuration]


class LoadStep(Model):
    """One rate for a while."""

    rate: Levels[Rate]
    for_: Annotated[Levels[PositiveDuration], Field(alias="for")]


class Spike(Model):
    """A rate that jumps to a peak for a while."""

    base: Levels[Rate]
    peak: Levels[PositiveRate]
    at: Levels[Duration]
    for_: Annotated[Levels[PositiveDuration], Field(alias="for")]


class Sine(Model):
    """A rate that swings around a mean, as days do."""

    mean: Levels[PositiveRate]
    amplitude: Levels[Rate]
    period: Levels[PositiveDuration]

    @model_validator(mode="after")
    def _never_negative(self) -> Sine:
        if max(self.amplitude) > min(self.mean):
            text = "makes the rate negative: it is larger than the mean"
            raise PydanticCustomError("amplitude", "the amplitude " + text, {"allowed": "an amplitude up to the mean"})
        return self


class Trace(Model):
    """Arrivals that someone recorded: CSV with ``at_us`` and, if wanted, ``user`` and ``step``."""

    file: Levels[FileName]

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: object) -> object:
        return {"file": value} if isinstance(value, (str, list)) else value


class Schedule(OneOf):
    """When arrivals are due."""

    constant: Constant | None = None
    poisson: Poisson | None = None
    ramp: Ramp | None = None
    steps: Annotated[list[LoadStep], Field(min_length=1)] | None = None
    spike: Spike | None = None
    sine: Sine | None = None
    trace: Trace | None = None

    @property
    def ends(self) -> bool:
        """Whether arrivals come to an end by themselves."""
        return self.steps is not None or self.trace is not None


class ShareOfRate(Model):
    """A rate that is a share of the capacity."""

    share: Levels[ShareOfCapacity]


def _rate_or_share(value: object) -> Literal["rate", "share"]:
    return "share" if isinstance(value, ShareOfCapacity) or (isinstance(value, str) and "%" in value) else "rate"


OfferedRate = Annotated[
    Annotated[PositiveRate, Tag("rate")] | Annotated[ShareOfCapacity, Tag("share")], Discriminator(_rate_or_share)
]
"""Calls per second, or a share of the capacity."""


class Arrivals(OneOf):
    """Arrivals on a schedule that doesn't wait for answers. Above ``in_flight`` they are dropped and counted."""

    rate: Annotated[
        Levels[OfferedRate] | None,
        BeforeValidator(from_share, json_schema_input_type=Levels[OfferedRate] | ShareOfRate | None),
        Unit.RATE,
    ] = None
    schedule: Schedule | None = None
    spacing: Levels[Literal["regular", "poisson"]] | None = None
    users: Levels[Users] = Levels.one(1)
    in_flight: Levels[InFlight] = Levels.one(1000)

    @classmethod
    def choices(cls) -> list[str]:
        """Return a constant rate in short, or a schedule."""
        return ["rate", "schedule"]

    @model_validator(mode="after")
    def _spacing_once(self) -> Arrivals:
        schedule = self.schedule
        if schedule and (schedule.poisson or schedule.trace) and self.spacing is not None:
            raise misplaced("spacing", f"{schedule.kind}, which has its own spacing")
        return self


class Open(Arrivals):
    """An open workload: arrivals, and what ends them."""

    duration: Levels[PositiveDuration] | None = None
    arrivals: Levels[Count] | None = None

    @model_validator(mode="after")
    def _has_an_end(self) -> Open:
        if self.duration is None and self.arrivals is None and not (self.schedule and self.schedule.ends):
            raise PydanticCustomError("endless", "never ends", {"allowed": "a `duration`, or a number of `arrivals`"})
        return self

    @model_validator(mode="after")
    def _share_by_time(self) -> Open:
        if self.arrivals is not None and any(isinstance(rate, ShareOfCapacity) for rate in self.rate or ()):
            raise misplaced("arrivals", "a share of the capacity", "a `duration`")
        return self


class Population(Sparse):
    """The requests of users: one request, one journey, or several journeys with weights."""

    request: Annotated[Request | None, Role.WORLD] = None
    journey: Annotated[Journey | None, Role.WORLD] = None
    journeys: Annotated[Annotated[list[Journey], Field(min_length=1)] | None, Role.WORLD] = None
    feeder: Annotated[Feeder | None, Role.WORLD] = None
    connection: Annotated[Levels[Literal["reuse", "new"]] | None, Role.WORLD] = None
    affinity: Annotated[Levels[Literal["none", "user"]] | None, Role.WORLD] = None

    @property
    def sends(self) -> bool:
        """Whether it says what to send, and does not leave that to the workload around it."""
        return bool(self.request or self.journey or self.journeys)

    @model_validator(mode="after")
    def _one_way(self) -> Population:
        ways = [name for name in ("request", "journey", "journeys") if getattr(self, name) is not None]
        if len(ways) > 1:
            allowed = "one of request, journey, journeys"
            raise PydanticCustomError("one_of", f"{' and '.join(ways)} are given together", {"allowed": allowed})
        return self

    @model_validator(mode="after")
    def _somebody_goes(self) -> Population:
        if self.journeys and all(max(journey.weight) == 0 for journey in self.journeys):
            allowed = "a weight above 0 for at least one journey"
            raise PydanticCustomError(
                "weights", "every journey has the weight 0, so none is ever run", {"allowed": allowed}
            )
        return self


class Group(Population):
    """One of several populations: users who wait for their answers, or arrivals of the group as a whole (``open``)."""

    name: Name
    open: Arrivals | None = None
    users: Levels[Users] | None = None
    share: Percentage | None = None
    rate: Levels[PositiveRate] | None = None
    late: Levels[Literal["catch_up", "shift"]] | None = None
    paces: Levels[Literal["journey", "request"]] | None = None
    think_time: Levels[Duration] | None = None
    start_over: Levels[Duration] | None = None
    headers: Headers | None = None

    @model_validator(mode="after")
    def _so_many(self) -> Group:
        if sum(amount is not None for amount in (self.users, self.share, self.open)) != 1:
            allowed = "`users`, or a `share` in percent of the workload's `users`, or `open`: arrivals on a schedule"
            raise PydanticCustomError("one_of", "needs either users, share or open", {"allowed": allowed})
        return self

    @model_validator(mode="after")
    def _nobody_waits(self) -> Group:
        names = ("rate", "late", "paces", "think_time", "start_over")
        of_users = [name for name in names if getattr(self, name) is not None]
        if self.open is not None and of_users:
            raise misplaced(
                of_users[0], "open, whose rate is the group's as a whole", f"open, or {of_users[0]} with users"
            )
        return self

    @model_validator(mode="after")
    def _one_pause(self) -> Group:
        if self.rate is not None and self.think_time is not None:
            raise misplaced("think_time", "rate", "a rate per user, or a pause after each answer")
        for name in ("late", "paces"):
            if getattr(self, name) is not None and self.rate is None:
                raise misplaced(name, "a group without rate", f"{name} with rate")
        return self


class Workload(OneOf, Population):
    """When calls begin (closed, open or groups), and what they send (a request or a journey)."""

    closed: Closed | None = None
    open: Open | None = None
    groups: Annotated[list[Group], Field(min_length=1)] | None = None
    users: Levels[Users] | None = None
    duration: Levels[PositiveDuration] | None = None
    request: Annotated[Request | None, Role.WORLD] = None
    parameters: Annotated[dict[ParameterName, Levels[Parameter]] | None, Role.WORLD] = None
    lists: Annotated[dict[ParameterName, Entries] | None, Role.WORLD] = None
    set_up: Annotated[Journey | None, Role.WORLD] = None

    @model_validator(mode="before")
    @classmethod
    def _with_a_request(cls, value: object) -> object:
        """Return a workload that names nothing to send sends ``GET /``."""
        sends = {"request", "journey", "journeys"}
        return {**value, "request": {}} if isinstance(value, dict) and not sends & set(value) else value

    @classmethod
    def choices(cls) -> list[str]:
        """Return the kinds of workload."""
        return ["closed", "open", "groups"]

    @property
    def lasting(self) -> Levels[Duration] | None:
        """How long calls start, if the study gives a duration instead of a number of calls."""
        return self.duration if self.groups else self.chosen.duration

    @property
    def engine_only(self) -> bool:
        """Whether only the native engine can drive it; the others are one request by users who wait."""
        return self.engine_needs is not None

    @property
    def engine_needs(self) -> str | None:
        """The parts that only the native engine can drive, in words."""
        if self.closed is None:
            return "groups" if self.groups else "an open workload"
        if self.request is None:
            return "a journey"
        if self.set_up:
            return "a set-up"
        if self.closed.engine_needs:
            return f"closed.{self.closed.engine_needs}"
        return next((name for name in ("connection", "affinity") if getattr(self, name) is not None), None)

    @property
    def set_up_names(self) -> list[str]:
        """The names that its set-up captures, which are known in every call of the round."""
        return [name for step in (self.set_up.steps if self.set_up else []) for name in step.capture or ()]

    @model_validator(mode="after")
    def _fields_of_groups(self) -> Workload:
        for name in ("users", "duration"):
            if getattr(self, name) is not None and self.groups is None:
                raise misplaced(name, f"{self.kind}, which has one of its own", f"{self.kind}.{name}")
        if self.groups is not None and self.duration is None:
            raise PydanticCustomError("endless", "groups never end", {"allowed": "a `duration` next to `groups`"})
        return self

    @model_validator(mode="after")
    def _groups_add_up(self) -> Workload:
        groups = self.groups or []
        names = [group.name for group in groups]
        twice = next((name for index, name in enumerate(names) if name in names[:index]), None)
        if twice:
            raise PydanticCustomError("group_twice", f"there are two groups {twice}", {"allowed": "each name once"})
        shares = [group.share for group in groups if group.share is not None]
        waiting = [group for group in groups if group.open is None]
        if shares and (self.users is None or sum(shares) != ALL_SHARES or len(shares) != len(waiting)):
            allowed = "`users` next to `groups`, and a share for every group of users; they add up to 100"
            raise PydanticCustomError("shares", f"the shares add up to {sum(shares):g}", {"allowed": allowed})
        if self.users is not None and not shares:
            raise misplaced("users", "groups with users of their own", "a share for every group")
        return self

    @property
    def steady_after(self) -> Duration | None:
        """After which time a concrete workload offers the same load all the time; None for one that never does."""
        own: list[Arrivals | None] = [self.open, *(group.open for group in self.groups or [])]
        arrivals = [one for one in own if one]
        if any(one.schedule and one.schedule.kind not in ("constant", "poisson") for one in arrivals):
            return None
        closed = [only(self.closed.start_over)] if self.closed else []
        ramps = [*closed, *(only(group.start_over) for group in self.groups or [])]
        return max((ramp for ramp in ramps if ramp), key=lambda ramp: ramp.us, default=Duration(0))

    @property
    def tells_journeys(self) -> bool:
        """Whether its users go through journeys, so that those are worth telling of by themselves."""
        return any(sends.journey or sends.journeys for sends in (self, *(self.groups or [])))

    @model_validator(mode="after")
    def _names_of_their_own(self) -> Workload:
        twice = sorted(set(self.parameters or {}) & set(self.lists or {}))
        if twice:
            message = f"{twice[0]} is a parameter and a list"
            raise PydanticCustomError("list_twice", message, {"allowed": "each name once"})
        return self

    @model_validator(mode="after")
    def _no_attempts_on_journeys(self) -> Workload:
        if self.closed and self.closed.max_attempts and self.request is None:
            raise misplaced("closed.max_attempts", "a journey", "closed with only successes, requests or duration")
        return self


__all__ = ["Closed", "Group", "Journey", "Open", "Request", "Schedule", "Step", "Workload"]
