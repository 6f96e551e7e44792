"""The study file, version 1: what a user declares, as pydantic models.

Any scalar typed ``Levels[...]`` may hold a list; it is then a factor. Fields stand in the order of expansion
(the first varies slowest): system, faults, workload, strategies, as in Algorithm 1 of Aderaldo et al. (2024).
"""

from __future__ import annotations

from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from patternbench.study.evidence import Fraction, RoundsOrRule, Wish
from patternbench.study.faults import Fault
from patternbench.study.journeys import Weight
from patternbench.study.levels import Levels
from patternbench.study.parts import FileName, Model, Name, OneOf, Setting, misplaced
from patternbench.study.policies import POLICIES, Baseline, CircuitBreaker, Policy, Retry, check_stack
from patternbench.study.roles import Role
from patternbench.study.units import Duration, Number, PositiveDuration
from patternbench.study.workloads import Workload


def _reachable(url: str) -> str:
    """Refuses a URL with a login, which the study and so every record of it would hold, and one with no such port."""
    if "@" in url.partition("//")[2].partition("/")[0]:
        allowed = 'a URL without them, and `headers: {Authorization: "Basic ${env:LOGIN}"}`'
        raise PydanticCustomError("login", "holds a user or a password", {"allowed": allowed})
    if not _has_a_port(url):
        message = "has no such host or port"
        raise PydanticCustomError("host", message, {"allowed": "a host, and a port from 1 to 65535"})
    return url


def _has_a_port(url: str) -> bool:
    """Whether the port that a URL names, if any, is one; ``urlsplit`` raises for those beyond 65535."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


Url = Annotated[str, Field(pattern=r"^(https?://[^\s/]+|unix:/[^\s:]+)", max_length=2000), AfterValidator(_reachable)]
DerivedName = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=80)]
Expression = Annotated[str, Field(min_length=1, max_length=500)]
ALWAYS_THERE = "native"
"""The client that needs no library: our own."""
TLS = ("ca", "verify", "server_name")
"""Fields about certificates: whom to trust, whether to, and under which name."""


def is_socket(url: str) -> bool:
    """Whether a URL is that of a Unix socket: ``unix:/path/of/socket``, and what is asked of it after a colon."""
    return url.startswith("unix:")


class Place(Model):
    """One of several URLs that load goes to in turn, as often as its weight says."""

    url: Url
    weight: Levels[Weight] = Levels.one(1)

    @model_validator(mode="before")
    @classmethod
    def _from_url(cls, value: Any) -> Any:
        return {"url": value} if isinstance(value, str) else value


class System(OneOf):
    """The system under test: one that the lab brings up by name, or one that already runs at a URL."""

    name: Name | None = None
    url: Levels[Url] | None = None
    urls: Annotated[list[Place], Field(min_length=1, max_length=1000)] | None = None
    settings: dict[str, Levels[Setting]] = Field(default_factory=dict)
    ready: Annotated[str, Field(pattern=r"^/")] = "/"
    headers: dict[str, str] = Field(default_factory=dict)
    ca: FileName | None = None
    verify: bool | None = None
    server_name: Annotated[str, Field(min_length=1, max_length=253)] | None = None

    @classmethod
    def choices(cls) -> list[str]:
        """A system is named, or has a URL, or several that load goes to in turn."""
        return ["name", "url", "urls"]

    @classmethod
    def from_plain(cls, given: dict[str, Any]) -> System:
        """The system of a scenario's plain data, which holds defaults that a study must not write."""
        unfit = cls._unfit("name" in given)
        return cls.model_validate({name: value for name, value in given.items() if name not in unfit})

    @staticmethod
    def _unfit(named: bool) -> set[str]:
        """The fields that do not go with a system by name, or with one that already runs."""
        return {"ready", "headers", *TLS} if named else {"settings"}

    @property
    def places(self) -> list[str]:
        """The URLs of a system that already runs."""
        return list(self.url) if self.url else [place.url for place in self.urls or []]

    @property
    def direct(self) -> bool:
        """Whether load goes straight to it: several URLs, or a socket, have no fault proxy before them."""
        return self.urls is not None or any(map(is_socket, self.url or ()))

    @model_validator(mode="before")
    @classmethod
    def _from_name(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_validator(mode="after")
    def _fitting_fields(self) -> System:
        for name in sorted(self._unfit(self.name is not None) & self.model_fields_set):
            raise misplaced(name, "a system by name" if self.name else "a system that already runs (url)")
        return self

    @model_validator(mode="after")
    def _certificates(self) -> System:
        given = [name for name in TLS if getattr(self, name) is not None]
        if given and not any(url.startswith("https:") for url in self.places):
            raise misplaced(given[0], "a URL without TLS", "an https:// URL")
        if self.verify is False and self.ca is not None:
            raise misplaced("ca", "verify: false, which trusts anybody", "one of ca, verify: false")
        return self

    @model_validator(mode="after")
    def _reached_alike(self) -> System:
        """Deployments that are compared stand all behind the fault proxy, or none does."""
        if len({url.split(":")[0] for url in self.url or ()}) > 1:
            message = "the levels of `url` are not reached in the same way, so the way would be compared as well"
            raise PydanticCustomError("mixed_urls", message, {"allowed": "all http://, all https://, or all sockets"})
        return self

    @model_validator(mode="after")
    def _somebody_is_asked(self) -> System:
        if self.urls and all(max(place.weight) == 0 for place in self.urls):
            message = "every URL has the weight 0, so none is ever asked"
            raise PydanticCustomError("weights", message, {"allowed": "a weight above 0 for at least one URL"})
        return self


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
        """The strategies there are."""
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
            raise misplaced("name", f"{self.kind}, which is known by that word", "name with stack")
        if self.name in (taken := [*self.choices(), *POLICIES]):
            message = f"the name `{self.name}` is that of a pattern"
            raise PydanticCustomError("name", message, {"allowed": f"any other than {', '.join(taken)}"})
        return self


def _no_pattern() -> list[Strategy]:
    """Who calls where a study names no strategy: the client that is always there, without a pattern."""
    return [Strategy(client=Levels.one(ALWAYS_THERE), baseline=Baseline())]


class ClientAt(OneOf):
    """Where a client of the user's own is found: it already runs, or a command starts it."""

    url: Annotated[str, Field(pattern=r"^http://[^\s/]+"), AfterValidator(_reachable)] | None = None
    command: Annotated[list[str], Field(min_length=1)] | None = None


class Objective(Model):
    """What counts as good: a successful call slower than this is throughput, but no goodput."""

    response_time: PositiveDuration


class Lateness(Model):
    """How late the generator may send, at the median and at p99: a share of the service time there, or ``floor``."""

    percentage: Annotated[Number, Field(ge=0, le=1_000_000)] = 10
    floor: Duration = Duration.parse("1ms")


class Design(Model):
    """Which combinations of levels are run."""

    exclude: list[dict[str, Any]] = Field(default_factory=list)
    zip: list[list[str]] = Field(default_factory=list)
    fraction: Fraction | None = None
    latin_hypercube: Annotated[int, Field(ge=2, le=100_000)] | None = None


class Study(Model):
    """A whole study file."""

    patternbench: Literal[1]
    name: Name
    description: str = ""
    system: Annotated[System, Role.WORLD]
    faults: Annotated[list[Fault], Role.FAULT] = Field(default_factory=list)
    workload: Annotated[Workload, Role.LOAD]
    strategies: Annotated[list[Strategy], Field(min_length=1), Role.PATTERN] = Field(default_factory=_no_pattern)
    rounds: RoundsOrRule = 10
    derived: dict[DerivedName, Expression] = Field(default_factory=dict)
    models: list[str] = Field(default_factory=list)
    recommend: Wish | None = None
    seed: Annotated[int, Field(ge=0, le=2**53)] = 1
    order: Literal["shuffled", "declared"] = "shuffled"
    time_limit: PositiveDuration = Duration.parse("2m")
    warm_up: Duration = Duration.parse("2s")
    objective: Objective | None = None
    lateness: Lateness | None = None
    design: Design = Design()
    clients: dict[str, ClientAt] = Field(default_factory=dict)

    @property
    def engine_only(self) -> bool:
        """Whether only the load engine can drive all of it."""
        stacked = any(strategy.stack for strategy in self.strategies)
        return self.workload.engine_only or self.system.direct or stacked

    @model_validator(mode="after")
    def _faults_need_their_proxy(self) -> Study:
        if self.faults and self.system.direct:
            raise misplaced("faults", "several URLs or a socket", "one `url` of http:// or https://, or no faults")
        return self

    @model_validator(mode="after")
    def _no_attempts_of_a_stack(self) -> Study:
        closed = self.workload.closed
        if closed and closed.max_attempts and any(strategy.stack for strategy in self.strategies):
            raise misplaced("workload.closed.max_attempts", "a stack", "max_attempts in a retry of the stack, or none")
        return self


__all__ = ["ClientAt", "Model", "Name", "OneOf", "Setting", "Strategy", "Study", "Workload"]
