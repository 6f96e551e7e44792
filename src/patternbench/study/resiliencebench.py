"""Reads the test spaces of ResilienceBench (Aderaldo et al., 2024) as studies.

Both spellings are known: that of the paper's Listings 3 and 4, and that of the tool's public repository. What the
libraries mean differently is put into our one meaning: Polly and cockatiel count retries where we count attempts, and
Polly's first delay is already multiplied once. Breakers get the scope ``user``, because that tool makes one for each
virtual user.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from patternbench.study.document import Document, Path
from patternbench.study.problems import InputError, Problem, did_you_mean

MARKS = {"clientSpecs", "succRequests", "targetUrl"}
REQUIRED = ["fault", "users", "rounds", "maxRequests", "succRequests", "targetUrl", "clientSpecs"]
OPTIONAL = ["testId"]
CLIENT_KEYS = ["platform", "strategy", "lib", "url", "patternConfig", "configTemplate"]
CLIENT_OF_PLATFORM = {"java": "resilience4j", ".net": "polly", "dotnet": "polly", "c#": "polly", "nodejs": "cockatiel"}
COMPOSE_HOSTS = {"server", "target", "httpbin"}
"""Hosts that exist only inside that tool's Compose file; its target is httpbin behind Envoy."""

Values = dict[str, Any]


def recognises(value: Any) -> bool:
    """Whether a JSON value looks like one of that tool's test spaces."""
    return isinstance(value, dict) and "patternbench" not in value and len(MARKS & value.keys()) > 1


class _Reader:
    """Collects the new document, the place that each part came from, and the problems."""

    def __init__(self, source: Document) -> None:
        self.source = source
        self.problems: list[Problem] = []
        self.lines: dict[Path, int] = {(): 1}

    def problem(self, path: Path, message: str, **more: Any) -> None:
        text = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in path).lstrip(".")
        line = self.source.line(path)
        self.problems.append(Problem(message, path=text, file=self.source.file, line=line, **more))

    def keep(self, new: Path, old: Path) -> None:
        line = self.source.line(old)
        if line:
            self.lines[new] = line

    def check_keys(self, node: Any, path: Path, keys: list[str]) -> None:
        for key in node if isinstance(node, dict) else []:
            if key not in keys:
                hint = did_you_mean(key, keys)
                self.problem((*path, key), "unknown key", allowed=", ".join(keys), hint=hint)


def convert(source: Document) -> Document:
    """The same test space as a study document; raises InputError listing all that cannot be read."""
    reader = _Reader(source)
    spec = source.value
    reader.check_keys(spec, (), REQUIRED + OPTIONAL)
    for key in REQUIRED:
        if key not in spec:
            reader.problem((), f"`{key}` is missing")
    if reader.problems:
        raise InputError(reader.problems)
    study = {
        "patternbench": 1,
        "name": _slug(spec.get("testId") or "resiliencebench"),
        **_target(spec, reader),
        "faults": _faults(spec["fault"], reader),
        "strategies": _strategies(spec["clientSpecs"], reader),
        "rounds": spec["rounds"],
    }
    for new, old in ((("workload", "closed", "users"), ("users",)), (("rounds",), ("rounds",))):
        reader.keep(new, old)
    if reader.problems:
        raise InputError(reader.problems)
    return Document(source.file, study, reader.lines)


def _slug(text: Any) -> str:
    return re.sub(r"[^a-z0-9._-]+", "-", str(text).lower()).strip("-._") or "resiliencebench"


def _target(spec: Values, reader: _Reader) -> Values:
    url = urlsplit(str(spec["targetUrl"]))
    if url.scheme not in ("http", "https") or not url.hostname:
        reader.problem(("targetUrl",), "is no http URL", value=spec["targetUrl"], allowed="http://host:port/path")
    named = url.hostname in COMPOSE_HOSTS
    system = "httpbin" if named else {"url": f"{url.scheme}://{url.netloc}"}
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    closed = {"users": spec["users"], "successes": spec["succRequests"], "max_attempts": spec["maxRequests"]}
    for new, old in (("successes", "succRequests"), ("max_attempts", "maxRequests")):
        reader.keep(("workload", "closed", new), (old,))
    return {"system": system, "workload": {"closed": closed, "request": {"method": "GET", "path": path}}}


def _faults(fault: Any, reader: _Reader) -> list[Values]:
    if not fault:
        return []
    reader.check_keys(fault, ("fault",), ["type", "percentage", "status", "duration"])
    kind = fault.get("type")
    reader.keep(("faults", 0, str(kind), "percentage"), ("fault", "percentage"))
    if kind == "abort":
        return [{"abort": {"percentage": fault.get("percentage"), "status": fault.get("status", 503)}}]
    if kind == "delay":
        return [{"delay": {"percentage": fault.get("percentage"), "duration": _ms(fault.get("duration"))}}]
    reader.problem(("fault", "type"), "unknown fault", value=kind, allowed="abort, delay")
    return []


def _strategies(specs: Any, reader: _Reader) -> list[Values]:
    if not isinstance(specs, list):
        reader.problem(("clientSpecs",), "is no list", allowed="a list of clients")
        return []
    strategies = [_strategy(spec, i, reader) for i, spec in enumerate(specs)]
    return [strategy for strategy in strategies if strategy]


def _strategy(spec: Values, index: int, reader: _Reader) -> Values | None:
    path: Path = ("clientSpecs", index)
    reader.keep(("strategies", index), path)
    reader.check_keys(spec, path, CLIENT_KEYS)
    client = _client(spec)
    kind = re.sub(r"[\s_-]+", "_", str(spec.get("strategy", "")).strip().lower())
    key = "configTemplate" if "configTemplate" in spec else "patternConfig"
    config = spec.get(key) or {}
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
    reader.check_keys(config, (*path, key), keys)
    for name in config:
        reader.keep(("strategies", index, kind), (*path, key, name))
    return {"client": client, kind: read(config)}


def _client(spec: Values) -> str:
    library = str(spec.get("lib") or "").strip().lower()
    platform = str(spec.get("platform") or "").strip().lower()
    return _slug(library or CLIENT_OF_PLATFORM.get(platform, platform))


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """The change applied to a level, or to each of a list of levels."""
    return [change(level) for level in value] if isinstance(value, list) else change(value)


def _ms(value: Any) -> Any:
    return _each(value, lambda v: f"{v}ms" if isinstance(v, (int, float)) else v)


def _seconds(value: Any) -> Any:
    return _each(value, lambda v: f"{v}s" if isinstance(v, (int, float)) else v)


def _given(**fields: Any) -> Values:
    return {name: value for name, value in fields.items() if value is not None}


def _r4j_retry(config: Values) -> Values:
    if "initialIntervalMillis" in config:
        exponential = _given(initial=_ms(config["initialIntervalMillis"]), multiplier=config.get("multiplier"))
        backoff: Values = {"exponential": exponential}
    else:
        backoff = {"fixed": _given(delay=_ms(config.get("waitDuration")))}
    return _given(max_attempts=config.get("maxAttempts"), backoff=backoff)


def _polly_retry(config: Values) -> Values:
    retries = config.get("retryCount", config.get("count"))
    power = config.get("exponentialBackoffPow", 1)
    first = _each(config.get("sleepDuration"), lambda v: v * power if isinstance(v, (int, float)) else v)
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


def _consecutive_breaker(failures: Any, open_for: Any) -> Values:
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


def _plus_one(value: Any) -> Any:
    return value + 1 if isinstance(value, int) else value


def _tidy(value: Any) -> Any:
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
