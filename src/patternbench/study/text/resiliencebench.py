"""Reads the test spaces of ResilienceBench (Aderaldo et al., 2024) as studies.

Both spellings are known: that of the paper's Listings 3 and 4, and that of the tool's public repository. What the
libraries mean differently is put into our one meaning: Polly and cockatiel count retries where we count attempts, and
Polly's first delay is already multiplied once. Breakers get the scope ``user``, because that tool makes one for each
virtual user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel

from patternbench.study.text.document import Document, Path
from patternbench.terms.problems import InputError, Problem, did_you_mean

MARKS = {"clientSpecs", "succRequests", "targetUrl"}
REQUIRED = ["fault", "users", "rounds", "maxRequests", "succRequests", "targetUrl", "clientSpecs"]
OPTIONAL = ["testId"]
CLIENT_KEYS = ["platform", "strategy", "lib", "url", "patternConfig", "configTemplate"]
CLIENT_OF_PLATFORM = {"java": "resilience4j", ".net": "polly", "dotnet": "polly", "c#": "polly", "nodejs": "cockatiel"}
COMPOSE_HOSTS = {"server", "target", "httpbin"}
"""Hosts that exist only inside that tool's Compose file; its target is httpbin behind Envoy."""

Values = dict[str, object]


class TestSpace(BaseModel):
    """A test space of that tool, with every value as it is written."""

    __test__ = False  # for pytest
    model_config = ConfigDict(alias_generator=to_camel, frozen=True)

    test_id: object = None
    fault: object
    users: object
    rounds: object
    max_requests: object
    succ_requests: object
    target_url: object
    client_specs: object


def recognises(value: object) -> bool:
    """Whether a JSON value looks like one of that tool's test spaces."""
    return isinstance(value, dict) and "patternbench" not in value and len(MARKS & value.keys()) > 1


class _Reader:
    """Collects the new document, the place that each part came from, and the problems."""

    def __init__(self, source: Document) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.lines: dict[Path, int] = {(): 1}

    def problem(self, path: Path, message: str, value: object = None, allowed: str = "", hint: str = "") -> None:
        text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
        line = self.source.line(path)
        self.problems.append(Problem(message, text, self.source.file, line, value, allowed, hint))

    def keep(self, new: Path, old: Path) -> None:
        line = self.source.line(old)
        if line:
            self.lines[new] = line

    def mapping(self, node: object, path: Path, keys: list[str]) -> Values | None:
        """Return a node with these keys and no others; None, with a problem, if it isn't a mapping."""
        if not isinstance(node, dict):
            self.problem(path, "isn't a mapping", value=node, allowed=", ".join(keys))
            return None
        for key in node:
            if key not in keys:
                hint = did_you_mean(key, keys)
                self.problem((*path, key), "unknown key", allowed=", ".join(keys), hint=hint)
        return node


def convert(source: Document) -> Document:
    """Return the same test space as a study document; raises InputError listing all that cannot be read."""
    reader = _Reader(source)
    written = reader.mapping(source.value, (), REQUIRED + OPTIONAL) or {}
    for key in REQUIRED:
        if key not in written:
            reader.problem((), f"`{key}` is missing")
    if reader.problems:
        raise InputError(reader.problems)
    space = TestSpace.model_validate(written)
    study = {
        "patternbench": 1,
        "name": _slug(space.test_id or "resiliencebench"),
        **_target(space, reader),
        "faults": _faults(space.fault, reader),
        "strategies": _strategies(space.client_specs, reader),
        "rounds": space.rounds,
    }
    for new, old in ((("workload", "closed", "users"), ("users",)), (("rounds",), ("rounds",))):
        reader.keep(new, old)
    if reader.problems:
        raise InputError(reader.problems)
    return Document(source.file, study, reader.lines)


def _slug(text: object) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", str(text).lower()).strip("-._") or "resiliencebench"


def _target(space: TestSpace, reader: _Reader) -> Values:
    url = urlsplit(str(space.target_url))
    if url.scheme not in ("http", "https") or not url.hostname:
        reader.problem(("targetUrl",), "isn't an http URL", value=space.target_url, allowed="http://host:port/path")
    named = url.hostname in COMPOSE_HOSTS
    system = "httpbin" if named else {"url": f"{url.scheme}://{url.netloc}"}
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    closed = {"users": space.users, "successes": space.succ_requests, "max_attempts": space.max_requests}
    for new, old in (("successes", "succRequests"), ("max_attempts", "maxRequests")):
        reader.keep(("workload", "closed", new), (old,))
    return {"system": system, "workload": {"closed": closed, "request": {"method": "GET", "path": path}}}


def _faults(written: object, reader: _Reader) -> list[Values]:
    fault = reader.mapping(written or {}, ("fault",), ["type", "percentage", "status", "duration"])
    if not fault:
        return []
    kind = fault.get("type")
    reader.keep(("faults", 0, str(kind), "percentage"), ("fault", "percentage"))
    if kind == "abort":
        return [{"abort": {"percentage": fault.get("percentage"), "status": fault.get("status", 503)}}]
    if kind == "delay":
        return [{"delay": {"percentage": fault.get("percentage"), "duration": _ms(fault.get("duration"))}}]
    reader.problem(("fault", "type"), "unknown fault", value=kind, allowed="abort, delay")
    return []


def _strategies(specs: object, reader: _Reader) -> list[Values]:
    if not isinstance(specs, list):
        reader.problem(("clientSpecs",), "isn't a list", allowed="a list of clients")
        return []
    strategies = [_strategy(spec, i, reader) for i, spec in enumerate(specs)]
    return [strategy for strategy in strategies if strategy]


def _strategy(written: object, index: int, reader: _Reader) -> Values | None:
    path: Path = ("clientSpecs", index)
    reader.keep(("strategies", index), path)
    spec = reader.mapping(written, path, CLIENT_KEYS)
    if spec is None:
        return None
    client = _client(spec)
    kind = re.sub(r"[\s_-]+", "_", str(spec.get("strategy", "")).strip().lower())
    key = "configTemplate" if "configTemplate" in spec else "patternConfig"
    if kind == "baseline":
        return {"client": client, "baseline": {}}
    readers = READERS.get(kind)
    if readers is None:
        reader.problem(
            (*path, "strategy"),
            "unknown strategy",
            value=spec.get("strategy"),
            allowed="baseline, retry, circuit_breaker",
        )
        return None
    read, keys = readers.get(client, readers["resilience4j"])
    config = reader.mapping(spec.get(key) or {}, (*path, key), keys) or {}
    for name in config:
        reader.keep(("strategies", index, kind), (*path, key, name))
    return {"client": client, kind: read(config)}


def _client(spec: Values) -> str:
    library = str(spec.get("lib") or "").strip().lower()
    platform = str(spec.get("platform") or "").strip().lower()
    return _slug(library or CLIENT_OF_PLATFORM.get(platform, platform))


def _each(value: object, change: Callable[[object], object]) -> object:
    """Return the change applied to a level, or to each of a list of levels."""
    return [change(level) for level in value] if isinstance(value, list) else change(value)


def _ms(value: object) -> object:
    return _each(value, lambda v: f"{v}ms" if isinstance(v, (int, float)) else v)


def _seconds(value: object) -> object:
    return _each(value, lambda v: f"{v}s" if isinstance(v, (int, float)) else v)


def _given(**fields: object) -> Values:
    return {name: value for name, value in fields.items() if value is not None}


def _r4j_retry(config: Values) -> Values:
    if "initialIntervalMillis" in config:
        exponential = _given(initial=_ms(config.get("initialIntervalMillis")), multiplier=config.get("multiplier"))
        backoff: Values = {"exponential": exponential}
    else:
        backoff = {"fixed": _given(delay=_ms(config.get("waitDuration")))}
    return _given(max_attempts=config.get("maxAttempts"), backoff=backoff)


def _polly_retry(config: Values) -> Values:
    retries = config.get("retryCount", config.get("count"))
    power = config.get("exponentialBackoffPow", 1)
    first = _each(config.get("sleepDuration"), lambda level: _times(level, power))
    backoff = {"exponential": _given(initial=_ms(_each(first, _tidy)), multiplier=power)}
    return _given(max_attempts=_each(retries, _plus_one), backoff=backoff)


def _cockatiel_retry(config: Values) -> Values:
    exponential = _given(
        initial=_ms(config.get("initialDelay")), multiplier=config.get("exponent"), max=_ms(config.get("maxDelay"))
    )
    return _given(max_attempts=_each(config.get("maxAttempts"), _plus_one), backoff={"exponential": exponential})


def _r4j_breaker(config: Values) -> Values:
    size = config.get("slidingWindowSize")
    timed = str(config.get("slidingWindowType", "COUNT_BASED")).upper() == "TIME_BASED"
    slow = _given(rate=config.get("slowCallRateThreshold"), duration=_ms(config.get("slowCallDurationThreshold")))
    return _given(
        failure_rate=config.get("failureRateThreshold"),
        slow_call=slow or None,
        window={"time": _seconds(size)} if timed else _given(calls=size),
        minimum_calls=config.get("minimumNumberOfCalls"),
        open_for=_ms(config.get("waitDurationInOpenState")),
        half_open_calls=config.get("permittedNumberOfCallsInHalfOpenState"),
        scope="user",
    )


def _consecutive_breaker(failures: object, open_for: object) -> Values:
    return _given(
        failure_rate=100,
        window=_given(calls=failures),
        minimum_calls=failures,
        open_for=_ms(open_for),
        half_open_calls=1,
        scope="user",
    )


def _polly_breaker(config: Values) -> Values:
    open_for = config.get("durationOfBreaking", config.get("durationOfBreak"))
    return _consecutive_breaker(config.get("exceptionsAllowedBeforeBreaking"), open_for)


def _cockatiel_breaker(config: Values) -> Values:
    return _consecutive_breaker(config.get("exceptionsAllowedBeforeBreaking"), config.get("halfOpenAfter"))


def _plus_one(value: object) -> object:
    return value + 1 if isinstance(value, int) else value


def _times(level: object, power: object) -> object:
    """Return a product. A factor that isn't a number gives the product as text, which the study's own checks refuse."""
    if not isinstance(level, (int, float)):
        return level
    return level * power if isinstance(power, (int, float)) else f"{level} * {power}"


def _tidy(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


R4J_RETRY = ["maxAttempts", "multiplier", "intervalFunction", "initialIntervalMillis", "waitDuration"]
R4J_BREAKER = [
    "failureRateThreshold",
    "slidingWindowSize",
    "slidingWindowType",
    "minimumNumberOfCalls",
    "waitDurationInOpenState",
    "permittedNumberOfCallsInHalfOpenState",
    "slowCallRateThreshold",
    "slowCallDurationThreshold",
]
READERS: dict[str, dict[str, tuple[Callable[[Values], Values], list[str]]]] = {
    "retry": {
        "resilience4j": (_r4j_retry, R4J_RETRY),
        "polly": (_polly_retry, ["retryCount", "count", "sleepDuration", "sleepDurationType", "exponentialBackoffPow"]),
        "cockatiel": (_cockatiel_retry, ["maxAttempts", "exponent", "initialDelay", "maxDelay"]),
    },
    "circuit_breaker": {
        "resilience4j": (_r4j_breaker, R4J_BREAKER),
        "polly": (_polly_breaker, ["exceptionsAllowedBeforeBreaking", "durationOfBreaking", "durationOfBreak"]),
        "cockatiel": (_cockatiel_breaker, ["halfOpenAfter", "exceptionsAllowedBeforeBreaking"]),
    },
}
