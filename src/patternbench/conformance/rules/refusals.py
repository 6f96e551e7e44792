"""Who the client is, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
from pydantic import ValidationError

from patternbench.conformance.bench import (
    BASELINE,
    STRATEGIES,
    ClientTrial,
    Json,
    breaker,
    expect,
    json_of,
    problems_of,
    retry,
    rule,
)
from patternbench.conformance.cases import ClientDescription

_STEPS: Json = {"initial_us": 1000, "increment_us": 1000, "max_us": None}
LINEAR: Json = {"linear": _STEPS}
EXPONENTIAL: Json = {"exponential": {"initial_us": 1000, "multiplier": 2, "max_us": None}}


@rule("description", "GET /client answers 200 with a valid description")
def description(bench: ClientTrial) -> str:
    """Read the description, and keep it for the other rules."""
    response = bench.client.get("/client")
    expect(response.status_code == httpx.codes.OK, f"status {response.status_code}")
    body = json_of(response)
    try:
        told = ClientDescription.model_validate(body)
    except ValidationError as error:
        expect(False, _first(error))
    expect(len(set(told.strategies)) == len(told.strategies), f"a strategy named twice in {told.strategies}")
    return f"{told.name} {told.version} ({told.library.name} {told.library.version}, {told.language})"


def _first(error: ValidationError) -> str:
    """The first thing that is wrong with a description."""
    first = error.errors()[0]
    return f"{'.'.join(map(str, first['loc']))}: {first['msg']}, seen {str(first['input'])[:80]}"


@rule("an expressible round passes", "POST /check answers 200 with an empty list for a plain baseline round")
def check_passes(bench: ClientTrial) -> str:
    """Check a round that nobody can object to."""
    problems = bench.problems(bench.round())
    expect(problems == [], f"problems {problems}")
    return "no problems"


@rule("strategies that are not declared", "a strategy that the description leaves out is refused with 422")
def undeclared(bench: ClientTrial) -> str:
    """Ask for what the client says it does not do."""
    examples = {"baseline": BASELINE, "retry": retry(3), "circuit_breaker": breaker()}
    missing = [name for name in STRATEGIES if name not in bench.strategies]
    for name in missing:
        _expect_refused(bench, f"strategy {name}", bench.round(strategy=examples[name]))
    return f"refused {', '.join(missing)}" if missing else "all strategies are declared"


@rule("unknown fields", "a field that the contract does not have is refused, wherever it stands")
def unknown_fields(bench: ClientTrial) -> str:
    """Put a surprise into every object of a round."""
    count = 0
    for body in _full_rounds(bench):
        for path in _objects(body):
            changed = _changed(body, (*path, "surprise"), 1)
            _expect_refused(bench, f"unknown field {'.'.join((*path, 'surprise'))}", changed)
            count += 1
    return f"{count} objects with an unknown field, all refused"


@rule("missing fields", "every field is required, at every level")
def missing_fields(bench: ClientTrial) -> str:
    """Take every field away once."""
    count = 0
    for body in _full_rounds(bench):
        for path in _fields(body):
            if path[:2] != ("request", "headers"):
                _expect_refused(bench, f"a round without {'.'.join(path)}", _changed(body, path, _ABSENT))
                count += 1
    return f"{count} rounds without a field, all refused"


@rule("wrong values", "a value that round.schema.json does not allow is refused, never clamped")
def wrong_values(bench: ClientTrial) -> str:
    """Try a wrong type and a value out of range in every field."""
    tried = 0
    for path, values in _WRONG:
        for body in _full_rounds(bench):
            if _has(body, path):
                for value in values:
                    _expect_refused(bench, f"{'.'.join(path)}: {value!r}", _changed(body, path, value))
                    tried += 1
    return f"{tried} wrong values, all refused"


@rule("several strategies", "a round with no strategy, or two, is refused")
def several_strategies(bench: ClientTrial) -> str:
    """Name none, then two."""
    _expect_refused(bench, "no strategy", bench.round(strategy={}))
    _expect_refused(bench, "two strategies", bench.round(strategy={**BASELINE, **retry(3)}))
    return "both refused"


@rule(
    "minimum calls above the window",
    "minimum_calls above window.calls is refused, never clamped",
    "circuit_breaker",
)
def minimum_above_window(bench: ClientTrial) -> str:
    """Ask for more results than the window holds."""
    _expect_refused(bench, "minimum_calls 3 of 2", bench.round(strategy=breaker(minimum_calls=3)))
    return "refused"


@rule("no JSON", "a body that is not one JSON object is refused with 422 and a problem, never with a crash")
def no_json(bench: ClientTrial) -> str:
    """Send what cannot be read."""
    for body in (b"", b"{", b"null", b"[]", b'{"contract": 1', b"\xff\xfe"):
        _expect_refused(bench, f"body {body!r}", body)
    expect(bench.client.get("/client").status_code == httpx.codes.OK, "the client no longer answers")
    return "all refused"


_ABSENT = object()
_NOT_COUNTS = (0, -1, 1.5, "60ms", True)
_NOT_TIMES = (-1, 1.5, "60ms", None)
_BREAKER = ("strategy", "circuit_breaker")
_WRONG: list[tuple[tuple[str, ...], tuple[object, ...]]] = [
    (("contract",), (2, "1", None)),
    (("target",), (None, 8080)),
    (("request", "method"), ("get", "BREW", None)),
    (("request", "path"), ("bytes", "", None)),
    (("request", "headers"), (None, [], {"X-A": 1})),
    (("request", "body"), (1, {})),
    (("request", "timeout_us"), (0, *_NOT_TIMES)),
    (("users",), (*_NOT_COUNTS, None)),
    (("think_time_us",), _NOT_TIMES),
    (("successes",), _NOT_COUNTS),
    (("max_attempts",), _NOT_COUNTS),
    (("rejected_pause_us",), (0, *_NOT_TIMES)),
    (("time_limit_us",), (0, *_NOT_TIMES)),
    (("seed",), (-1, None, "x")),
    (("strategy", "retry", "max_attempts"), (*_NOT_COUNTS, None)),
    (("strategy", "retry", "jitter"), (0, 1.1, -0.1, "half", None)),
    (("strategy", "retry", "backoff"), ({}, {"fixed": {"delay_us": 0}, "linear": _STEPS}, None)),
    (("strategy", "retry", "backoff", "fixed", "delay_us"), _NOT_TIMES),
    (("strategy", "retry", "backoff", "linear", "increment_us"), _NOT_TIMES),
    (("strategy", "retry", "backoff", "linear", "max_us"), (0, "60ms")),
    (("strategy", "retry", "backoff", "exponential", "multiplier"), (0.5, "2", None)),
    ((*_BREAKER, "failure_rate"), (0, 100.5, -1, "50%", None)),
    ((*_BREAKER, "slow_call"), (0, {})),
    ((*_BREAKER, "slow_call", "rate"), (0, 100.5)),
    ((*_BREAKER, "slow_call", "duration_us"), (0, *_NOT_TIMES)),
    ((*_BREAKER, "window"), ({}, {"calls": 2, "time_us": 1_000_000}, None)),
    ((*_BREAKER, "window", "calls"), (*_NOT_COUNTS, None)),
    ((*_BREAKER, "window", "time_us"), (0, *_NOT_TIMES)),
    ((*_BREAKER, "minimum_calls"), (*_NOT_COUNTS, None)),
    ((*_BREAKER, "open_for_us"), (0, *_NOT_TIMES)),
    ((*_BREAKER, "half_open_calls"), (*_NOT_COUNTS, None)),
    ((*_BREAKER, "scope"), ("service", None)),
]


def _full_rounds(bench: ClientTrial) -> Iterator[Json]:
    """Give rounds that between them hold every field, of the strategies that the client has."""
    fixed: Json = {"fixed": {"delay_us": 1000}}
    slow = {"rate": 50, "duration_us": 1_000_000}
    strategies = {
        "baseline": [BASELINE],
        "retry": [retry(3, backoff) for backoff in (fixed, LINEAR, EXPONENTIAL)],
        "circuit_breaker": [breaker(slow_call=slow), breaker(window={"time_us": 2_000_000})],
    }
    for name in bench.strategies:
        for strategy in strategies[name]:
            yield bench.round(strategy=strategy, max_attempts=1)


def _expect_refused(bench: ClientTrial, what: str, body: object) -> None:
    expect(bench.problems(body) != [], f"{what}: /check finds no problem")
    response = bench.post("/rounds", body)
    expect(response.status_code == httpx.codes.UNPROCESSABLE_ENTITY, f"{what}: /rounds {response.status_code}")
    expect(problems_of(response) != [], f"{what}: /rounds answers 422 without a problem")


def _fields(body: Json, under: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in body.items():
        yield (*under, name)
        if isinstance(value, dict):
            yield from _fields(value, (*under, name))


def _objects(body: Json) -> list[tuple[str, ...]]:
    inner = [path for path in _fields(body) if isinstance(_at(body, path), dict)]
    return [(), *(path for path in inner if path != ("request", "headers"))]


def _at(body: Json, path: tuple[str, ...]) -> object:
    value: object = body
    for name in path:
        if not isinstance(value, dict):
            raise KeyError(name)
        value = value[name]
    return value


def _has(body: Json, path: tuple[str, ...]) -> bool:
    try:
        _at(body, path)
    except KeyError:
        return False
    return True


def _changed(body: Json, path: tuple[str, ...], value: object) -> Json:
    """Copy a round with one value set, or taken away."""
    name, *rest = path
    if rest:
        part = body[name]
        assert isinstance(part, dict)
        return {**body, name: _changed(part, tuple(rest), value)}
    kept = {key: old for key, old in body.items() if key != name}
    return kept if value is _ABSENT else {**kept, name: value}
