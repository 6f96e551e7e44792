"""Routes of the Gateway API: HTTPRoute and GRPCRoute, and the policy for a budget of retries."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from patternbench.configurations.amounts import KUBERNETES
from patternbench.configurations.forms.gateway_api import FIELDS
from patternbench.configurations.reading import mesh
from patternbench.configurations.reading.failures import Failures, listed
from patternbench.configurations.reading.kubernetes import KubernetesObject, objects
from patternbench.configurations.reading.layer import Layer, LayerCandidate, ReadPolicy, read_policies
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.retry_on import statuses
from patternbench.configurations.reading.section import FieldReader, table
from patternbench.study.text.nodes import FileNode, PathStep
from patternbench.terms.units import Duration

PRODUCT = "Gateway API"
GROUPS = ("gateway.networking.k8s.io", "gateway.networking.x-k8s.io")
ROUTES, POLICIES = ("HTTPRoute", "GRPCRoute"), ("XBackendTrafficPolicy", "BackendTrafficPolicy", "BackendLBPolicy")
CONNECTION: Failures = frozenset({"connection_error"})
OPEN = "is left to the implementation where it isn't said"


def recognises(root: FileNode) -> bool:
    """Whether a document is a route, or a policy for the backends of routes."""
    return any(_ours(one) for one in objects([root]))


def _ours(one: KubernetesObject) -> bool:
    return one.group in GROUPS and one.kind in (*ROUTES, *POLICIES)


def candidates(roots: Sequence[FileNode]) -> list[LayerCandidate]:
    """Return the rules of all routes. A policy is of the backends that it names."""
    found = [one for one in objects(roots) if _ours(one)]
    policies = [one for one in found if one.kind in POLICIES]
    return [candidate for one in found if one.kind in ROUTES for candidate in _rules(one, policies)]


def _rules(one: KubernetesObject, policies: Sequence[KubernetesObject]) -> Iterator[LayerCandidate]:
    rules = one.spec.at("rules")
    entries = rules.entries if rules else ()
    for number, rule in enumerate(entries):
        named = rule.at("name")
        own = str(named.scalar) if named else str(number)
        name = one.name if len(entries) == 1 else f"{one.name}/{own}"
        mine = [policy for policy in policies if _targets(policy) & _backends(rule)]
        yield LayerCandidate(name, rule.place, _reader(name, rule, mine))


def _backends(rule: FileNode) -> set[str]:
    return _names(rule.at("backendRefs"))


def _targets(policy: KubernetesObject) -> set[str]:
    return _names(policy.spec.at("targetRefs"))


def _names(references: FileNode | None) -> set[str]:
    named = [one.at("name") for one in (references.entries if references else ())]
    return {str(one.scalar) for one in named if one}


def _reader(name: str, rule: FileNode, policies: Sequence[KubernetesObject]) -> Callable[[], Layer]:
    return lambda: _layer(name, rule, policies)


def _layer(name: str, rule: FileNode, policies: Sequence[KubernetesObject]) -> Layer:
    notes = ReadingNotes()
    section = FieldReader(notes, rule)
    section.harmless("name", "matches", "filters", "backendRefs", "sessionPersistence")
    times = section.inside("timeouts")
    guards = mesh.Guards(
        whole=mesh.bounded(times.take("request"), KUBERNETES, notes),
        attempt=mesh.bounded(times.take("backendRequest"), KUBERNETES, notes),
    )
    times.finish()
    retry = section.take("retry")
    guards.retry = _retry(retry, notes) if retry else ()
    section.finish()
    for policy in policies:
        _budget(policy, notes)
    return guards.layer(PRODUCT, name, rule.place, notes)


def _retry(node: FileNode, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    section = FieldReader(notes, node, table(FIELDS, "rules[].retry"))
    codes = section.take("codes")
    attempts = section.value("attempts")
    delay = section.value("backoff")
    section.finish()
    if attempts is None or delay is None or codes is None:
        for name, one in (("attempts", attempts), ("backoff", delay), ("codes", codes)):
            if one is None and not section.failed:
                notes.not_understood(node, OPEN, name)
        section.failed = True
    why = "failed connections are tried again as well, the pause is the shortest, and how it grows is left open"
    notes.add(NoteKind.APPROXIMATED, node, why)
    acts: Failures = CONNECTION | frozenset(statuses(codes.entries if codes else (), notes))
    backoff = {"fixed": {"delay": delay}}
    fields = {"max_attempts": attempts, "backoff": backoff, "jitter": "none", "on": listed(acts)}
    return read_policies("retry", {**fields, "retry_after_max": Duration(0)}, section, node)


def _budget(policy: KubernetesObject, notes: ReadingNotes) -> None:
    constraint = policy.spec.at("retryConstraint")
    if constraint:
        why = (
            "bounds the retries of all callers of a backend together; write a `retry_budget` of a study for one caller"
        )
        named = FileNode(None, constraint.place, PathStep("retryConstraint"))
        notes.add(NoteKind.INEXPRESSIBLE, named, why)
