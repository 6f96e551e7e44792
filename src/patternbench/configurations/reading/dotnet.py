"""The standard resilience handler of .NET as ``appsettings.json`` configures it.

Such a file may have any sections; one that has the options of the handler in it is found wherever it is. Its keys may
be written in any case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from patternbench.configurations.forms.polly import FIELDS
from patternbench.configurations.reading.failures import SERVER, UNANSWERED, Failures, listed
from patternbench.configurations.reading.layer import Layer, LayerCandidate, ReadPolicy, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.section import FieldReader, table
from patternbench.study.text.nodes import FileNode, canonical
from patternbench.terms.units import Duration

PRODUCT = "Microsoft.Extensions.Http.Resilience"
ACTS_ON: Failures = SERVER | UNANSWERED | {408, 429}
STRATEGIES = ("RateLimiter", "TotalRequestTimeout", "Retry", "CircuitBreaker", "AttemptTimeout")
OF_PREVIEWS = "Options"
"""What the names of strategies ended with in previews."""
OPTIONS = {canonical(one.place.rpartition(".")[2]) for one in FIELDS if one.place.partition(".")[0] in STRATEGIES} | {
    canonical("DefaultRateLimiterOptions")
}
NAMES = {canonical(one + ending) for one in STRATEGIES for ending in ("", OF_PREVIEWS)}
BACKOFFS = {"constant": "constant", "0": "constant", "linear": "linear", "1": "linear", "2": "exponential"}
AS_LONG_AS_SAID = Duration.parse("24h")
"""For a ``Retry-After`` that is waited for however long it is: the longest that a study can say."""


def recognises(root: FileNode) -> bool:
    """Whether a document has a section of the handler."""
    return any(True for _ in _sections(root))


def candidates(roots: Sequence[FileNode]) -> list[LayerCandidate]:
    """Return the sections of the handler, named as .NET names them: ``Resilience:Http``."""
    found = [node for root in roots for node in _sections(root)]
    return [LayerCandidate(_name(node), node.place, _reader(node)) for node in found]


def _sections(root: FileNode) -> Iterator[FileNode]:
    return (node for node in root.all() if any(_is_strategy(name, one) for name, one in node.fields.items()))


def _is_strategy(name: str, node: FileNode) -> bool:
    return canonical(name) in NAMES and any(canonical(inner) in OPTIONS for inner in node.fields)


def _name(node: FileNode) -> str:
    return node.path.replace(".", ":") or "the whole file"


def _reader(node: FileNode) -> Callable[[], Layer]:
    return lambda: _layer(node)


def _layer(node: FileNode) -> Layer:
    notes = ReadingNotes()
    whole = FieldReader(notes, node)
    policies = [one for name, read in READERS.items() for one in _policy(whole, name, read)]
    for name in ("SelectPipelineByAuthority", "Hedging", "Endpoint"):
        whole.inexpressible("isn't of the standard handler of a client", name)
    if node.step is not None:  # of a whole file the other sections are those of others
        whole.finish()
    retry = next((one for one in policies if one.kind == "retry"), None)
    repeats = retry.place if retry else None
    return Layer(
        PRODUCT, _name(node), node.place, tuple(policies), notes=tuple(notes.found), repeats_any_method=repeats
    )


def _policy(whole: FieldReader, name: str, read: Callable[[FieldReader], object]) -> tuple[ReadPolicy, ...]:
    """Return the policy of a strategy; all of the handler's always act, with defaults where nothing is said."""
    node = whole.take(name, name + OF_PREVIEWS)
    at = node or whole.node
    assert at is not None
    section = FieldReader(whole.notes, node or FileNode({}, at.place, at.step), table(FIELDS, name))
    fields = read(section)
    section.harmless("Name")
    section.code("ShouldHandle", "DelayGenerator", "OnRetry", "BreakDurationGenerator", "TimeoutGenerator")
    section.finish()
    return read_policies(KINDS[name], fields, section, at)


def _limiter(section: FieldReader) -> object:
    node = section.take("DefaultRateLimiterOptions")
    at = node or FileNode({}, section.node.place) if section.node else None
    inner = FieldReader(section.notes, at, table(FIELDS, "RateLimiter.DefaultRateLimiterOptions"))
    made = {"max_concurrent": inner.value("PermitLimit"), "max_waiting": inner.value("QueueLimit")}
    inner.harmless("QueueProcessingOrder")
    inner.finish()
    section.failed = section.failed or inner.failed
    return made


def _timeout(section: FieldReader) -> object:
    return section.value("Timeout")


def _retry(section: FieldReader) -> object:
    attempts = section.value("MaxRetryAttempts")
    kind = _backoff_type(section)
    delay, longest = section.value("Delay"), section.value("MaxDelay")
    jitter = _jitter(kind, section.value("UseJitter"), section)
    waits = section.value("ShouldRetryAfterHeader")
    if waits and section.node:
        why = "takes the place of the pause there; in a study the longer of both counts"
        section.notes.add(NoteKind.APPROXIMATED, section.node, why, "Retry-After")
    return {
        "max_attempts": attempts,
        "backoff": _backoff(kind, delay, longest),
        "jitter": jitter,
        "on": listed(ACTS_ON),
        "retry_after_max": AS_LONG_AS_SAID if waits else Duration(0),
    }


def _backoff_type(section: FieldReader) -> str:
    node = section.take("BackoffType")
    if node is None:
        if section.node:
            section.notes.add(NoteKind.DEFAULT, section.node, "is Exponential where it is left out", "BackoffType")
        return "exponential"
    written = str(node.scalar).lower()
    kind = BACKOFFS.get(written, written)
    if kind not in ("constant", "linear", "exponential"):
        section.notes.not_understood(node, "isn't Constant, Linear or Exponential")
        section.failed = True
    return kind


def _backoff(kind: str, delay: object, longest: object) -> object:
    if kind == "constant":
        return {"fixed": {"delay": delay}}
    if kind == "linear":
        return {"linear": {"initial": delay, "increment": delay, "max": longest}}
    return {"exponential": {"initial": delay, "multiplier": 2, "max": longest}}


def _jitter(kind: str, used: object, section: FieldReader) -> object:
    if not used:
        return "none"
    if kind != "exponential":
        return 0.25
    if section.node:
        why = "each delay is drawn again from the one before; a study draws from half of it to all of it"
        section.notes.add(NoteKind.APPROXIMATED, section.node, why, "UseJitter")
    return "equal"


def _breaker(section: FieldReader) -> object:
    if section.node:
        why = "looks at the share of failures after a failure only; in a study after every call"
        section.notes.add(NoteKind.APPROXIMATED, section.node, why, "CircuitBreaker")
    return {
        "failure_rate": section.value("FailureRatio"),
        "window": {"time": section.value("SamplingDuration")},
        "minimum_calls": section.value("MinimumThroughput"),
        "open_for": section.value("BreakDuration"),
        "half_open_calls": 1,
        "on": listed(ACTS_ON),
    }


READERS: dict[str, Callable[[FieldReader], object]] = {
    "RateLimiter": _limiter,
    "TotalRequestTimeout": _timeout,
    "Retry": _retry,
    "CircuitBreaker": _breaker,
    "AttemptTimeout": _timeout,
}
"""The handler's strategies, outermost first."""
KINDS = {
    "RateLimiter": "bulkhead",
    "TotalRequestTimeout": "timeout",
    "Retry": "retry",
    "CircuitBreaker": "circuit_breaker",
    "AttemptTimeout": "timeout",
}
