"""Resilience4j as Spring Boot configures it: ``application.yml`` or ``application.properties``.

Keys may be nested or dotted, and spelled in any way that Spring's relaxed binding knows. Of several instances one is
read, or one for each kind of policy. An instance has its own fields, then those of its base configuration.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from patternbench.configurations.amounts import NUMBER, SPRING_MS, Notation, Plain
from patternbench.configurations.forms.resilience4j import BREAKER, BULKHEAD, FIELDS, LIMITER, RETRY, TIMER
from patternbench.configurations.reading import java_exceptions
from patternbench.configurations.reading.failures import EVERY, Failures, listed
from patternbench.configurations.reading.layer import Layer, LayerCandidate, ReadPolicy, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.section import FieldReader, table
from patternbench.study.text.nodes import FileLine, FileNode, PathStep, canonical
from patternbench.terms.problems import InputError, Problem
from patternbench.terms.units import LONGEST_US, Duration

PRODUCT, ROOT = "Resilience4j", "resilience4j"
GROUPS = ("instances", "backends", "limiters")
QUIET = (
    *("baseConfig", "registerHealthIndicator", "allowHealthIndicatorToFail", "eventConsumerBufferSize", "tags", "name"),
    *("subscribeForEvents", "writableStackTraceEnabled", "failAfterMaxAttempts", "contextPropagators"),
    *("automaticTransitionFromOpenToHalfOpenEnabled", "ignoreClassBindingExceptions", "cancelRunningFuture"),
    *("consumeResultBeforeRetryAttempt", "keepAliveDuration", "fairCallHandlingEnabled"),
)
"""Fields that don't change whether or when a call is made."""
PROFILES = (("spring", "profiles"), ("spring", "config", "activate", "on-profile"))
_PART = re.compile(r"\[([^\[\]]*)\]|([^.\[\]]+)")
_LAST = 2_147_483_647
"""The lowest precedence of Spring's aspects, from which Resilience4j counts its own."""
UNBOUNDED = 1_000_000
"""As many waiting calls as a study can say."""

Properties = dict[str, FileNode]
Pairs = Sequence[tuple[tuple[str, ...], FileNode]]
"""The values of a document with their keys taken apart."""
TRUE, FALSE = ("true", "on", "yes", "1"), ("false", "off", "no", "0")


def _truth(written: Plain) -> bool:
    """Read a flag as Spring does, whose YAML has more words for it than ours."""
    text = str(written).lower()
    if text not in (*TRUE, *FALSE):
        raise ValueError(f"{written!r} is neither true nor false")
    return text in TRUE


SPRING_FLAG = Notation("true or false", bool, _truth)


@dataclass
class DeclaredPolicies:
    """What is said of one kind of policy: its own fields, base configurations, and instances."""

    own: Properties = field(default_factory=dict)
    configs: dict[str, Properties] = field(default_factory=dict)
    instances: dict[str, Properties] = field(default_factory=dict)

    def of(self, name: str) -> Properties:
        """Return the fields of an instance, with those of its base configuration where it has none of its own."""
        own = self.instances.get(name) or self.configs.get(name, {})
        return {**self._base(own, ()), **own}

    def _base(self, own: Properties, before: tuple[str, ...]) -> Properties:
        node = own.get("baseconfig")
        base = str(node.scalar) if node else "default"
        if base not in self.configs or base in before:
            if node is not None:
                allowed = ", ".join(self.configs) or "none"
                message = f"there is no base configuration `{base}`" if base not in before else "leads back to itself"
                raise InputError(Problem(message, node.path, node.place.file, node.place.line, allowed=allowed))
            return {}
        found = self.configs[base]
        return {**self._base(found, (*before, base)), **found} if "baseconfig" in found else found


def recognises(root: FileNode) -> bool:
    """Whether a document says something of Resilience4j."""
    return any(canonical(name).partition(".")[0] == ROOT for name in root.fields)


def flat(root: FileNode) -> Iterator[tuple[tuple[str, ...], FileNode]]:
    """Yield each value that isn't a mapping, with its key taken apart as Spring does."""
    waiting: list[tuple[tuple[str, ...], FileNode]] = [((), root)]
    while waiting:
        parts, node = waiting.pop()
        if node.fields:
            waiting += reversed([((*parts, *split(name)), one) for name, one in node.fields.items()])
        else:
            yield parts, node


def split(key: str) -> tuple[str, ...]:
    """Return the parts of a key: ``a.b[my.name].c`` has four."""
    return tuple(inner or plain for inner, plain in _PART.findall(key))


class Resilience4jFile:
    """All that the documents say of Resilience4j, by kind of policy."""

    def __init__(self, documents: Iterable[Pairs], notes: ReadingNotes) -> None:
        self.kinds: dict[str, DeclaredPolicies] = {}
        self.places: dict[tuple[bool, str], FileLine] = {}
        self.notes = notes
        for pairs in documents:
            self._add_document([pair for pair in pairs if pair[0]])

    def _add_document(self, pairs: Pairs) -> None:
        ours = [(parts, node) for parts, node in pairs if canonical(parts[0]) == ROOT]
        profile = next((node for parts, node in pairs if _is_one(parts, PROFILES)), None)
        if ours and profile is not None:
            why = "which profiles are active isn't in the file, so that this document is left out"
            self.notes.not_understood(profile, why)
            return
        seen: dict[tuple[str, ...], FileNode] = {}
        for parts, node in ours:
            self._add(parts[1:], node, seen)

    def _add(self, parts: tuple[str, ...], node: FileNode, seen: dict[tuple[str, ...], FileNode]) -> None:
        kind = canonical(parts[0]) if parts else ""
        if kind not in READERS or len(parts) < 2:  # noqa: PLR2004 - a kind and a field of it
            if kind not in OTHERS:
                self.notes.not_understood(node, "isn't a pattern that is known here", node.path)
            return
        declared = self.kinds.setdefault(kind, DeclaredPolicies())
        group = canonical(parts[1])
        if group not in (*GROUPS, "configs"):
            declared.own[group] = node
            return
        named = declared.configs if group == "configs" else declared.instances
        if len(parts) > 2:  # noqa: PLR2004 - and the name of an instance
            self.places.setdefault((group == "configs", parts[2]), node.place)
            _set(named.setdefault(parts[2], {}), parts[3:], node, seen, (kind, group, parts[2]))

    def names(self) -> dict[str, FileLine]:
        """Return the instances with their first lines, or base configurations if there are no others."""
        instances = {name: place for (base, name), place in self.places.items() if not base}
        return instances or {name: place for (_, name), place in self.places.items()}


def _is_one(parts: tuple[str, ...], names: Iterable[tuple[str, ...]]) -> bool:
    return tuple(map(canonical, parts)) in [tuple(map(canonical, one)) for one in names]


def _set(
    into: Properties,
    parts: tuple[str, ...],
    node: FileNode,
    seen: dict[tuple[str, ...], FileNode],
    above: tuple[str, ...],
) -> None:
    """Set a field of an instance; entries of a list may come one by one. Raises InputError for one said twice."""
    if not parts:
        return
    name, numbered = canonical(parts[0]), len(parts) > 1 and parts[1].isdigit()
    key = (*above, *map(canonical, parts))
    if key in seen:
        message, hint = f"says the same as line {seen[key].place.line}", "leave one of them out"
        raise InputError(Problem(message, node.path, node.place.file, node.place.line, hint=hint))
    seen[key] = node
    before = into[name].entries if numbered and name in into else ()
    into[name] = FileNode((*before, node), node.place, PathStep(parts[0])) if numbered else node


def candidates(documents: Sequence[Pairs], of: Sequence[str]) -> list[LayerCandidate]:
    """Return the instances that there are. Several that are named make one layer, if no kind has two of them."""
    notes = ReadingNotes()
    settings = Resilience4jFile(documents, notes)
    names = settings.names()
    several = [name for name in of if name in names]
    if len(several) > 1:
        return [LayerCandidate(several[0], names[several[0]], lambda: _layer(settings, several, names[several[0]]))]
    return [LayerCandidate(name, place, _reader(settings, name, place)) for name, place in names.items()]


def _reader(settings: Resilience4jFile, name: str, place: FileLine) -> Callable[[], Layer]:
    return lambda: _layer(settings, [name], place)


def _layer(settings: Resilience4jFile, names: Sequence[str], place: FileLine) -> Layer:
    notes = ReadingNotes(list(settings.notes.found))
    found: dict[str, tuple[ReadPolicy, ...]] = {}
    for kind, declared in settings.kinds.items():
        group = declared.instances or declared.configs
        mine = [name for name in names if name in group]
        if len(mine) > 1:
            raise InputError(Problem(f"both are of {kind}", "--of", value=", ".join(mine), allowed="one of each kind"))
        for name in mine:
            found[kind] = _policy(kind, declared, name, notes, place)
    order = _order(settings, notes)
    policies = tuple(one for kind in sorted(found, key=order.__getitem__) for one in found[kind])
    _tell_rejections(policies, notes, place)
    return Layer(PRODUCT, " + ".join(names), place, policies, notes=tuple(notes.found))


def _policy(
    kind: str, declared: DeclaredPolicies, name: str, notes: ReadingNotes, place: FileLine
) -> tuple[ReadPolicy, ...]:
    fields = declared.of(name)
    first = min((node.place for node in declared.instances.get(name, {}).values()), default=place)
    at = FileNode(fields, first, PathStep(name, PathStep(kind)))
    reader = READERS[kind]
    section = FieldReader(notes, at, table(FIELDS, reader.below))
    made = reader.read(section)
    section.harmless(*QUIET)
    section.finish()
    return () if made is None else read_policies(reader.kind, made, section, at)


def _order(settings: Resilience4jFile, notes: ReadingNotes) -> dict[str, int]:
    """Return the order of aspects: the lower number is further out."""
    orders = {}
    for number, (kind, reader) in enumerate(READERS.items()):
        own = settings.kinds[kind].own if kind in settings.kinds else {}
        section = FieldReader(notes, FileNode(own, FileLine("", 1)))
        given = section.count(reader.order)
        orders[kind] = _LAST - len(READERS) + number if given is None else given
        section.harmless("tags", "metrics", "enabled")
        section.finish()
    return orders


def _tell_rejections(policies: Sequence[ReadPolicy], notes: ReadingNotes, place: FileLine) -> None:
    kinds = [one.kind for one in policies]
    inner = kinds[kinds.index("retry") + 1 :] if "retry" in kinds else []
    if {"circuit_breaker", "bulkhead", "rate_limit"} & {*inner}:
        retry = policies[kinds.index("retry")]
        why = "there a rejection within is tried again, unless its exception is ignored; a study never tries it again"
        notes.add(NoteKind.APPROXIMATED, FileNode(None, retry.place, PathStep("retry")), why, "the retry")


def _retry(section: FieldReader) -> object:
    attempts = section.take("maxAttempts", "maxRetryAttempts")
    if attempts is not None and canonical(str(attempts.step.name if attempts.step else "")).endswith("retryattempts"):
        section.notes.add(
            NoteKind.APPROXIMATED, attempts, "read as Resilience4j 1 reads it; version 2 ignores this name"
        )
    most = section.count_of(attempts) if attempts else section.value("maxAttempts")
    on = _failures(section, "retryExceptions")
    section.code("retryExceptionPredicate", "resultPredicate", "intervalBiFunction", "ignoreExceptionPredicate")
    backoff, jitter = _backoff(section)
    return {"max_attempts": most, "backoff": backoff, "jitter": jitter, "on": on, "retry_after_max": Duration(0)}


def _backoff(section: FieldReader) -> tuple[object, object]:
    """Return the back-off and its jitter. Without a pause of its own an instance keeps the library's fixed one."""
    own = section.take("waitDuration", "waitInterval")
    wait = section.of(own, SPRING_MS) if own else None
    flags = [section.read(SPRING_FLAG, name) for name in ("enableExponentialBackoff", "enableRandomizedWait")]
    multiplier = section.read(NUMBER, "exponentialBackoffMultiplier")
    longest = section.read(SPRING_MS, "exponentialMaxWaitDuration")
    factor = section.read(NUMBER, "randomizedWaitFactor")
    if own is None:
        grows = any(flags)
        why = "is 500ms where it is left out" + (", and neither grows nor has jitter then" if grows else "")
        section.notes.add(NoteKind.DEFAULT, section.node or FileNode(None, FileLine("", 1)), why, "waitDuration")
        return {"fixed": {"delay": Duration.parse("500ms")}}, "none"
    jitter = (0.5 if factor is None else factor or "none") if flags[1] else "none"
    if not flags[0]:
        return {"fixed": {"delay": wait}}, jitter
    grown = {"initial": wait, "multiplier": 1.5 if multiplier is None else multiplier, "max": longest}
    return {"exponential": grown}, jitter


def _breaker(section: FieldReader) -> object:
    ring = section.take("ringBufferSizeInClosedState")
    size = section.count_of(ring) if ring else section.value("slidingWindowSize")
    least = size if ring else section.value("minimumNumberOfCalls")
    timed = str(section.value("slidingWindowType")).upper() == "TIME_BASED"
    if isinstance(size, int) and isinstance(least, int) and not timed:
        least = min(size, least)
    half_open = section.take("permittedNumberOfCallsInHalfOpenState", "ringBufferSizeInHalfOpenState")
    pause = section.take("waitDurationInOpenState", "waitInterval")
    slow = {"rate": section.value("slowCallRateThreshold"), "duration": section.value("slowCallDurationThreshold")}
    made = {
        "failure_rate": section.value("failureRateThreshold"),
        "slow_call": None if _never(slow.get("duration")) else slow,
        "window": {"time": Duration(size * 1_000_000) if isinstance(size, int) else None} if timed else {"calls": size},
        "minimum_calls": least,
        "open_for": section.of(pause, SPRING_MS) if pause else section.value("waitDurationInOpenState"),
        "half_open_calls": section.count_of(half_open)
        if half_open
        else section.value("permittedNumberOfCallsInHalfOpenState"),
        "on": _failures(section, "recordExceptions"),
    }
    section.code(
        "recordFailurePredicate", "recordExceptionPredicate", "recordResultPredicate", "ignoreExceptionPredicate"
    )
    _breaker_extras(section)
    return made


def _never(duration: object) -> bool:
    """Whether a time is longer than any that a study can say, so that no call takes it."""
    return isinstance(duration, Duration) and duration.us > LONGEST_US


def _breaker_extras(section: FieldReader) -> None:
    """Take what a breaker of a study has no word for."""
    grows = section.take("enableExponentialBackoff")
    if grows is not None and section.of(grows, SPRING_FLAG):
        section.notes.add(NoteKind.INEXPRESSIBLE, grows, "the open time of a study's breaker doesn't grow")
    spread = section.take("enableRandomizedWait")
    if spread is not None and section.of(spread, SPRING_FLAG):
        section.notes.add(NoteKind.INEXPRESSIBLE, spread, "the open time of a study's breaker has no jitter")
    section.harmless("exponentialBackoffMultiplier", "exponentialMaxWaitDurationInOpenState", "randomizedWaitFactor")
    section.inexpressible("a study's breaker begins closed", "initialState")
    longest = section.take("maxWaitDurationInHalfOpenState")
    if longest is not None and section.of(longest, SPRING_MS) != Duration(0):
        section.notes.add(
            NoteKind.INEXPRESSIBLE, longest, "a study's breaker stays half-open until its calls have ended"
        )
    section.harmless("transitionToStateAfterWaitDuration")


def _bulkhead(section: FieldReader) -> object:
    most = section.take("maxConcurrentCalls", "maxConcurrentCall")
    wait = section.take("maxWaitDuration", "maxWaitTime")
    longest = section.of(wait, SPRING_MS) if wait else section.value("maxWaitDuration")
    waits = isinstance(longest, Duration) and longest.us > 0
    return {
        "max_concurrent": section.count_of(most) if most else section.value("maxConcurrentCalls"),
        "max_waiting": UNBOUNDED if waits else 0,
        "max_wait": longest if waits else None,
    }


def _pool(section: FieldReader) -> object | None:
    """Return a pool of threads as a bulkhead. How many threads it has where that is left out depends on the machine."""
    core, most = section.count("coreThreadPoolSize"), section.count("maxThreadPoolSize")
    queue = section.count("queueCapacity")
    if section.node is None or most is None:
        if section.node is not None:
            section.notes.not_understood(
                section.node, "depends on the machine where it is left out", "maxThreadPoolSize"
            )
        return None
    if core != most:
        why = "more threads than the core are started only once the queue is full; a study's bulkhead has one number"
        section.notes.add(NoteKind.APPROXIMATED, section.node, why, "coreThreadPoolSize")
    return {"max_concurrent": most, "max_waiting": 100 if queue is None else queue}


def _limiter(section: FieldReader) -> object:
    calls = section.value("limitForPeriod")
    made = {
        "calls": calls,
        "burst": calls,
        "per": section.value("limitRefreshPeriod"),
        "max_wait": section.value("timeoutDuration"),
    }
    if section.node is not None:
        why = "permits come back at the end of each cycle there, and evenly in a study, after a burst of as many"
        section.notes.add(NoteKind.APPROXIMATED, section.node, why, "the rate limiter")
    return made


def _timer(section: FieldReader) -> object:
    return section.value("timeoutDuration")


def _failures(section: FieldReader, name: str) -> list[str | int] | None:
    """Return the failures that a list of classes stands for, without those that are ignored."""
    taken = _classes(section, name, fails=True)
    ignored = _classes(section, "ignoreExceptions", fails=False)
    acts = (EVERY if taken is None else taken) - (ignored or frozenset())
    return listed(acts)


def _classes(section: FieldReader, name: str, *, fails: bool) -> Failures | None:
    node = section.take(name)
    if node is None:
        return None
    named = node.entries or [FileNode(one.strip(), node.place, node.step) for one in str(node.scalar).split(",")]
    found: Failures = frozenset()
    for one in named:
        meant = java_exceptions.failures(str(one.scalar))
        if meant is None:
            why = "which failures of a call this class stands for isn't in the file"
            section.notes.not_understood(one, why, f"{name}: {one.scalar}")
            section.failed = section.failed or (fails and len(named) == 1)
        found |= meant or frozenset()
    return found


@dataclass(frozen=True)
class PolicyReader:
    """How one kind of policy is read: its fields in the form, the name of its policy, and of its aspect's order."""

    below: str
    kind: str
    order: str
    read: Callable[[FieldReader], object]


READERS: Mapping[str, PolicyReader] = {
    "retry": PolicyReader(RETRY, "retry", "retryAspectOrder", _retry),
    "circuitbreaker": PolicyReader(BREAKER, "circuit_breaker", "circuitBreakerAspectOrder", _breaker),
    "ratelimiter": PolicyReader(LIMITER, "rate_limit", "rateLimiterAspectOrder", _limiter),
    "timelimiter": PolicyReader(TIMER, "timeout", "timeLimiterAspectOrder", _timer),
    "bulkhead": PolicyReader(BULKHEAD, "bulkhead", "bulkheadAspectOrder", _bulkhead),
    "threadpoolbulkhead": PolicyReader("", "bulkhead", "bulkheadAspectOrder", _pool),
}
"""Every kind of policy by its name in the file; without orders of their own they are nested in this order."""
OTHERS = ("micrometer", "scheduled", "metrics", "tags")
"""Other sections of Resilience4j, which say nothing of calls."""


def names(documents: Sequence[Pairs]) -> list[str]:
    """Return the names of the instances that there are."""
    return list(Resilience4jFile(documents, ReadingNotes()).names())
