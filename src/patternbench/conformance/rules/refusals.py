"""Rules on the client's description, and on the rounds that it refuses."""

from __future__ import annotations

import httpx
from pydantic import ValidationError

from patternbench.conformance.cases import ClientDescription
from patternbench.conformance.trial import (
    BASELINE,
    STRATEGIES,
    ClientTrial,
    breaker,
    expect,
    json_of,
    problems_of,
    retry,
    rule,
    stack,
)


@rule("description", "GET /client answers 200 with a valid description")
def description(trial: ClientTrial) -> str:
    """Read the description, and keep it for the other rules."""
    response = trial.client.get("/client")
    expect(response.status_code == httpx.codes.OK, f"status {response.status_code}")
    body = json_of(response)
    try:
        reported = ClientDescription.model_validate(body)
    except ValidationError as error:
        expect(False, _first(error))
    expect(
        len(set(reported.strategies)) == len(reported.strategies), f"a strategy named twice in {reported.strategies}"
    )
    trial.description = reported
    return (
        f"{reported.name} {reported.version} ({reported.library.name} {reported.library.version}, {reported.language})"
    )


def _first(error: ValidationError) -> str:
    """Return the first thing that is wrong with a description."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, seen {str(first['input'])[:80]}"


@rule("an expressible round passes", "POST /check answers 200 with an empty list for a plain baseline round")
def check_passes(trial: ClientTrial) -> str:
    """Check a round that no one can object to."""
    problems = trial.problems(trial.round())
    expect(problems == [], f"problems {problems}")
    return "no problems"


@rule("strategies that are not declared", "a strategy that the description leaves out is refused with 422")
def undeclared(trial: ClientTrial) -> str:
    """Ask for what the client says it does not do."""
    examples = {"baseline": BASELINE, "retry": retry(3), "circuit_breaker": breaker(), "stack": stack(retry(3))}
    missing = [name for name in STRATEGIES if name not in trial.strategies]
    for name in missing:
        _expect_refused(trial, f"strategy {name}", trial.round(strategy=examples[name]))
    return f"refused {', '.join(missing)}" if missing else "all strategies are declared"


@rule("another version", "a round of another version of the contract is refused, and so is a field of a later one")
def another_version(trial: ClientTrial) -> str:
    """Ask for a version that does not exist yet, then for something that only a later one can have."""
    _expect_refused(trial, "contract 2", {**trial.round(), "contract": 2})
    _expect_refused(trial, "a field of a later version", {**trial.round(), "surprise": 1})
    return "both refused"


@rule("no JSON", "a body that is not one JSON object is refused with 422 and a problem, never with a crash")
def no_json(trial: ClientTrial) -> str:
    """Send what cannot be read."""
    for body in (b"", b"{", b"null", b"[]", b'{"contract": 1', b"\xff\xfe"):
        _expect_refused(trial, f"body {body!r}", body)
    expect(trial.client.get("/client").status_code == httpx.codes.OK, "the client no longer answers")
    return "all refused"


def _expect_refused(trial: ClientTrial, what: str, body: object) -> None:
    expect(trial.problems(body) != [], f"{what}: /check finds no problem")
    response = trial.post("/rounds", body)
    expect(response.status_code == httpx.codes.UNPROCESSABLE_ENTITY, f"{what}: /rounds {response.status_code}")
    expect(problems_of(response) != [], f"{what}: /rounds answers 422 without a problem")
