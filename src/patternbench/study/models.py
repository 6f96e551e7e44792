"""The study file, version 1: what a user declares, as pydantic models.

Any scalar typed ``Levels[...]`` may hold a list; it is then a factor. Fields are in the order of expansion
(the first varies slowest): system, faults, workload, strategies, as in Algorithm 1 of Aderaldo et al. (2024).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import AfterValidator, Discriminator, Field, Tag, field_validator, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.boundary import Boundary
from patternbench.study.capacity import DeclaredCapacity
from patternbench.study.claims import DeclaredClaim
from patternbench.study.evidence import DeclaredCriteria, Fraction, RoundsOrRule
from patternbench.study.faults import Fault
from patternbench.study.forms import Form
from patternbench.study.model.levels import Levels
from patternbench.study.model.parts import Count, FileName, Model, Name, OneOf, Setting, Users, misplaced
from patternbench.study.model.system import DeclaredSystem, reachable
from patternbench.study.questions import asking, questions
from patternbench.study.watching import Traces, Watch
from patternbench.study.workload.policies import POLICIES, Baseline, CircuitBreaker, Policy, Retry, check_stack
from patternbench.study.workload.workloads import Workload
from patternbench.terms.roles import Role
from patternbench.terms.units import Duration, Number, PositiveDuration

DerivedName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=80)]
Expression = Annotated[str, Field(min_length=1, max_length=500)]
ALWAYS_THERE = "native"
"""The client that needs no library: our own."""


class Strategy(OneOf):
    """A client and the pattern that it uses; a stack of policies may have a ``name`` to be known by."""

    client: Annotated[Levels[Name], Role.CLIENT]
    name: Name | None = None
    baseline: Baseline | None = None
    retry: Retry | None = None
    circuit_breaker: CircuitBreaker | None = None
    stack: Annotated[list[Policy], Field(min_length=1, max_length=100)] | None = None

    @classmethod
    def choices(cls) -> list[str]:
        """Return the strategies there are."""
        return ["baseline", "retry", "circuit_breaker", "stack"]

    @property
    def known_as(self) -> str:
        """Its kind; of a stack its own name, or its policies from the outside in."""
        return (self.name or "+".join(policy.kind for policy in self.stack)) if self.stack else self.kind

    @field_validator("stack")
    @classmethod
    def _stack_makes_sense(cls, stack: list[Policy] | None) -> list[Policy] | None:
        check_stack(stack or [])
        return stack

    @model_validator(mode="after")
    def _name_of_its_own(self) -> Strategy:
        if self.name is not None and self.stack is None:
            raise misplaced("name", f"{self.kind}, which has that name itself", "name with stack")
        if self.name in (taken := [*self.choices(), *POLICIES]):
            message = f"the name `{self.name}` is reserved for a pattern"
            raise PydanticCustomError("name", message, {"allowed": f"any other than {', '.join(taken)}"})
        return self


def _no_pattern() -> list[Strategy]:
    """Return the strategy of a study without one: the client that is always available, without a pattern."""
    return [Strategy(client=Levels.one(ALWAYS_THERE), baseline=Baseline())]


class ClientAt(OneOf):
    """A client of the user's own: it already runs, or a command starts it."""

    url: Annotated[str, Field(pattern=r"^http://[^\s/]+"), AfterValidator(reachable)] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None


MOST_GENERATORS = 100
"""The generators that may make a load together, at most."""


Order = Literal["shuffled", "fully_shuffled", "declared"]
"""The order of execution (``plan/order.py``)."""


class WarmUp(Model):
    """A warm-up that ends after a number of answers, once the service has settled, or at the latest after a time."""

    requests: Count | None = None
    until: Literal["settled"] | None = None
    at_most: PositiveDuration = Duration.parse("1m")

    @model_validator(mode="after")
    def _ended_by_one(self) -> WarmUp:
        if (self.requests is None) == (self.until is None):
            raise ValueError("takes one of `requests` and `until`: {requests: 5000} or {until: settled}")
        return self


def _ended_by(value: object) -> Literal["time", "WarmUp"]:
    return "WarmUp" if isinstance(value, (dict, WarmUp)) else "time"


DeclaredWarmUp = Annotated[
    Annotated[Duration, Tag("time")] | Annotated[WarmUp, Tag("WarmUp")], Discriminator(_ended_by)
]


class AfterStart(Model):
    """What warms a system of which something was started, before the round: users who go through its journeys."""

    requests: Count
    users: Users = 4
    think_time: Duration = Duration(0)
    at_most: PositiveDuration = Duration.parse("1m")


class ResponseObjective(Model):
    """The objective: a successful call that is slower counts as throughput, but not as goodput."""

    response_time: PositiveDuration


class Lateness(Model):
    """How late the generator may send, at the median and at p99, for a round to be valid: ``floor``.

    With a ``percentage`` the bound is that share of the round's own service time, where that is longer, and a round
    beyond it has a warning: it stays valid, since quick rounds would be left out and slow ones kept.
    """

    percentage: Annotated[Number, Field(ge=0, le=1_000_000)] = 0
    floor: Duration = Duration.parse("1ms")

    @property
    def is_one_bound(self) -> bool:
        """Whether all rounds have the same bound, so that to leave out those beyond it favours none."""
        return self.percentage == 0


class Screen(Model):
    """A screen: all scenarios are simulated with a model, and only the most promising ones are measured."""

    with_: Annotated[FileName, Field(alias="with")]
    keep: Annotated[int, Field(ge=2, le=100_000)]
    rounds: Annotated[int, Field(ge=1, le=1000)] = 3


class Design(Model):
    """Which combinations of levels are run."""

    exclude: list[dict[str, object]] = Field(default_factory=list)
    zip: list[list[str]] = Field(default_factory=list)
    faults: Literal["together", "one_at_a_time"] = "together"
    fraction: Fraction | None = None
    latin_hypercube: Annotated[int, Field(ge=2, le=100_000)] | None = None
    screen: Screen | None = None


class StudyFields(Model):
    """A whole study file."""

    patternbench: Literal[1]
    name: Name
    description: str = ""
    system: Annotated[DeclaredSystem, Role.WORLD]
    faults: Annotated[list[Fault], Role.FAULT] = Field(default_factory=list)
    workload: Annotated[Workload, Role.LOAD]
    strategies: Annotated[list[Strategy], Field(min_length=1), Role.PATTERN] = Field(default_factory=_no_pattern)
    rounds: RoundsOrRule = 10
    boundary: Boundary | None = None
    capacity: DeclaredCapacity | None = None
    derived: dict[DerivedName, Expression] = Field(default_factory=dict)
    models: list[str] = Field(default_factory=list)
    recommend: DeclaredCriteria | None = None
    claims: Annotated[list[DeclaredClaim], Field(max_length=1000)] = Field(default_factory=list)
    seed: Annotated[int, Field(ge=0, le=2**53)] = 1
    order: Order = "shuffled"
    time_limit: PositiveDuration = Duration.parse("2m")
    warm_up: DeclaredWarmUp = Duration.parse("2s")
    after_start: AfterStart | None = None
    objective: ResponseObjective | None = None
    lateness: Lateness | None = None
    generators: Annotated[int, Field(ge=1, le=MOST_GENERATORS)] = 1
    design: Design = Design()
    clients: dict[str, ClientAt] = Field(default_factory=dict)
    traces: Traces | None = None
    quick: dict[str, object] = Field(default_factory=dict)
    form: Form = "whole"

    @property
    def watch(self) -> Watch:
        """What observers record in each round."""
        return Watch.model_validate({name: getattr(self, name) for name in Watch.model_fields})

    @property
    def sampling(self) -> dict[str, Levels[str]]:
        """The share of traced requests, if it is a factor; nothing else of tracing can be one."""
        return {"sample": self.traces.sample} if self.traces and self.traces.sample.varied else {}

    @property
    def longest_warm_up(self) -> Duration:
        """How long the warm-up may take."""
        return self.warm_up.at_most if isinstance(self.warm_up, WarmUp) else self.warm_up

    @property
    def warm_up_requests(self) -> int | None:
        """How many answers end the warm-up before; None where only time does."""
        return self.warm_up.requests if isinstance(self.warm_up, WarmUp) else None

    @property
    def settles(self) -> bool:
        """Whether the warm-up ends earlier once the service no longer gets faster."""
        return isinstance(self.warm_up, WarmUp) and self.warm_up.until is not None

    @property
    def engine_only(self) -> bool:
        """Whether only the load engine can drive all of it."""
        stacked = any(strategy.stack for strategy in self.strategies)
        return self.workload.engine_only or self.system.direct or stacked

    @model_validator(mode="after")
    def _one_population_after_start(self) -> Self:
        if self.after_start and self.workload.groups:
            raise misplaced("after_start", "groups", "after_start with `closed` or `open`")
        return self

    @model_validator(mode="after")
    def _a_search_counts_its_own_rounds(self) -> Self:
        if self.boundary and "rounds" in self.model_fields_set:
            raise misplaced("rounds", "boundary, which adds rounds as it needs them", "`boundary.max`")
        return self

    @model_validator(mode="after")
    def _faults_need_their_proxy(self) -> Self:
        if self.faults and self.system.direct:
            raise misplaced("faults", "several URLs or a socket", "one `url` of http:// or https://, or no faults")
        return self

    @model_validator(mode="after")
    def _spans_find_their_way(self) -> Self:
        if self.traces and not self.traces.placed and self.system.addresses:
            raise misplaced(
                "traces",
                self.system.about,
                "`traces.port` (HTTP) or `traces.grpc_port`, to which that system sends its spans",
            )
        return self

    @model_validator(mode="after")
    def _no_attempts_of_a_stack(self) -> Self:
        closed = self.workload.closed
        if closed and closed.max_attempts and any(strategy.stack for strategy in self.strategies):
            raise misplaced("workload.closed.max_attempts", "a stack", "max_attempts in a retry of the stack, or none")
        return self


if TYPE_CHECKING:
    Study = StudyFields
else:
    Study = asking("Study", StudyFields, questions())

__all__ = ["ClientAt", "Model", "Name", "OneOf", "Setting", "Strategy", "Study", "Workload"]
