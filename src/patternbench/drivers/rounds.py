"""From a scenario to the round that a client is given: the same configuration in the contract's units."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from urllib.parse import urlsplit

from pydantic import BaseModel

from patternbench.drivers import origins
from patternbench.drivers.driver import Treatment
from patternbench.drivers.environment import put_in
from patternbench.drivers.headers import merged
from patternbench.drivers.limits import STRATEGY
from patternbench.drivers.origins import Job, TracedJob, TracedValue, traced
from patternbench.drivers.stacks import stacked
from patternbench.study.model.levels import only
from patternbench.study.models import Strategy
from patternbench.study.workload import depends
from patternbench.study.workload.journeys import Request
from patternbench.terms.units import Duration
from patternbench.terms.urls import encoded_once

CONTRACT = 1


class ClientRequest(BaseModel):
    """The one request of a client's round, complete but for the server."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None
    timeout_us: int


class ClientRound(BaseModel):
    """The body of ``POST /rounds`` (contracts/client, ``round.schema.json``)."""

    contract: int = CONTRACT
    target: str
    request: ClientRequest
    users: int
    think_time_us: int
    rejected_pause_us: int
    successes: int | None
    max_attempts: int | None
    time_limit_us: int
    seed: int
    strategy: dict[str, object]


def client_round(treatment: Treatment, target: str, time_limit: Duration, seed: int) -> ClientRound:
    """Return the round of a scenario that a library's client can drive."""
    closed, request = treatment.workload.closed, treatment.workload.request
    assert closed is not None
    assert request is not None
    headers = merged(treatment.system.sent_headers, request.headers)
    url = urlsplit(target)
    return ClientRound(
        target=f"{url.scheme}://{url.netloc}",
        request=_request(request, url.path.rstrip("/"), headers, depends.texts(treatment.system, treatment.workload)),
        users=closed.users.level,
        think_time_us=closed.think_time.level.us,
        rejected_pause_us=closed.rejected_pause.level.us,
        successes=only(closed.successes),
        max_attempts=only(closed.max_attempts),
        time_limit_us=(only(closed.duration) or time_limit).us,
        seed=seed,
        strategy=origins.plain_fields({treatment.strategy.kind: _pattern(treatment.strategy)}),
    )


def round_origins(treatment: Treatment) -> TracedJob:
    """Where a study has each field of a client's round."""
    closed, strategy = treatment.workload.closed, treatment.strategy
    assert closed is not None
    places = {
        "target": "system",
        "users": "workload.closed.users",
        "think_time_us": "workload.closed.think_time",
        "rejected_pause_us": "workload.closed.rejected_pause",
        "successes": "workload.closed.successes",
        "max_attempts": "workload.closed.max_attempts",
        "time_limit_us": "workload.closed.duration" if closed.duration else "time_limit",
        "seed": "seed",
    }
    request = origins.with_origins(treatment.workload.request, "workload.request")
    fields = {name: TracedValue(None, origin) for name, origin in places.items()}
    return traced(
        {**fields, "request": request, "strategy": TracedValue({strategy.kind: _pattern(strategy)}, STRATEGY)}
    )


def _pattern(strategy: Strategy) -> TracedValue:
    """Return the parameters of a strategy's pattern, or of each policy of its stack."""
    origin = f"{STRATEGY}.{strategy.kind}"
    if strategy.stack:
        return TracedValue(stacked(strategy.stack, origin), origin)
    return origins.with_origins(strategy.chosen, origin)


def _request(request: Request, below: str, headers: Mapping[str, str], parameters: Mapping[str, str]) -> ClientRequest:
    """Return the request of a library's client, which knows neither queries nor places: they are filled in here."""
    given = {name: depends.as_text(value.level) for name, value in (request.query or {}).items()}
    query = "&".join(f"{encoded_once(name)}={put_in(text, parameters, 'query')}" for name, text in given.items())
    path = put_in(below + request.path.level, parameters, "path")
    return ClientRequest(
        method=request.method.level,
        path=f"{path}{'&' if '?' in path else '?'}{query}" if query else path,
        headers={name: put_in(text, parameters, "headers") for name, text in headers.items()},
        body=request.body and put_in(request.body, parameters, "body"),
        timeout_us=request.timeout.level.us,
    )


def in_us(part: BaseModel, without: Collection[str] = ()) -> Job:
    """Return a part as the contracts write it: durations are whole microseconds under names ending in ``_us``.

    Fields of the part itself that are named in ``without`` are left out.
    """
    return origins.plain_fields(origins.in_us(part, "", without))
