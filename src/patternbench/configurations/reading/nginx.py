"""What an nginx does about the requests that it passes on: limits, time-outs, and another server of an upstream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from patternbench.configurations.amounts import NGINX
from patternbench.configurations.reading.failures import Failures, listed
from patternbench.configurations.reading.layer import Layer, LayerCandidate, ReadPolicy, read_policies
from patternbench.configurations.reading.nginx_text import Directive
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.configurations.reading.section import FieldReader
from patternbench.study.text.nodes import FileNode, PathStep
from patternbench.terms.units import Duration

PRODUCT = "nginx"
FAILURES: Mapping[str, Failures] = {
    "error": frozenset({"connection_error"}),
    "timeout": frozenset({"timeout"}),
    "invalid_header": frozenset({"connection_error"}),
    **{f"http_{status}": frozenset({status}) for status in (403, 404, 429, 500, 502, 503, 504)},
}
"""What sends a request to the next server. Source: the documentation of ``proxy_next_upstream``."""
ANY_METHOD, OFF = "non_idempotent", "off"
MINUTE = Duration.parse("1m")
_RATE = re.compile(r"rate=(\d+)r/(s|m)")


@dataclass(frozen=True)
class NginxScope:
    """A location that passes requests on, with the blocks around it, the innermost first."""

    name: str
    blocks: tuple[Directive, ...]
    upstreams: Mapping[str, Directive]
    zones: Mapping[str, Directive]

    def all(self, name: str) -> tuple[Directive, ...]:
        """Return the directives of a name in the innermost block that has any: nginx inherits all of them or none."""
        return next((found for block in self.blocks if (found := tuple(block.named(name)))), ())

    def one(self, name: str) -> Directive | None:
        """Return the last directive of a name that acts here."""
        found = self.all(name)
        return found[-1] if found else None

    @property
    def upstream(self) -> Directive | None:
        """The group of servers that requests are passed on to, if it is one that the file names."""
        passed = next(self.blocks[0].named("proxy_pass"))
        target = passed.words[0] if passed.words else ""
        return self.upstreams.get(re.sub(r"^https?://", "", target).partition("/")[0])


def candidates(roots: Sequence[Directive]) -> list[LayerCandidate]:
    """Return the locations that pass requests on, named ``SERVER /LOCATION``."""
    root = Directive("main", (), roots[0].place, tuple(roots)) if roots else None
    every = list(_all(root, ())) if root else []
    upstreams = {one.words[0]: one for one, _ in every if one.name == "upstream" and one.words}
    zones = {_zone(one): one for one, _ in every if one.name in ("limit_req_zone", "limit_conn_zone")}
    scopes = [
        NginxScope(_name(one, around), (one, *around), upstreams, zones)
        for one, around in every
        if one.block is not None and one.name != "upstream" and any(one.named("proxy_pass"))
    ]
    included = [
        one for one, _ in every if one.name == "include" and not one.words[0].endswith(("mime.types", "_params"))
    ]
    return [LayerCandidate(scope.name, scope.blocks[0].place, _reader(scope, included)) for scope in _each_once(scopes)]


def _all(root: Directive, around: tuple[Directive, ...]) -> Iterator[tuple[Directive, tuple[Directive, ...]]]:
    waiting = [(root, around)]
    while waiting:
        one, outside = waiting.pop()
        yield one, outside
        waiting += reversed([(inner, (one, *outside)) for inner in one.block or ()])


def _zone(one: Directive) -> str:
    named = next((word for word in one.words if word.startswith("zone=")), "zone=")
    return named.removeprefix("zone=").partition(":")[0]


def _name(one: Directive, around: Sequence[Directive]) -> str:
    server = next((block for block in around if block.name == "server"), None)
    named = next(server.named("server_name"), None) if server else None
    host = named.words[0] if named and named.words else "server"
    return f"{host} {' '.join(one.words)}".strip()


def _each_once(scopes: Sequence[NginxScope]) -> Iterator[NginxScope]:
    seen: dict[str, int] = {}
    for one in scopes:
        seen[one.name] = seen.get(one.name, 0) + 1
        name = one.name if seen[one.name] == 1 else f"{one.name}#{seen[one.name]}"
        yield NginxScope(name, one.blocks, one.upstreams, one.zones)


def _reader(scope: NginxScope, included: Sequence[Directive]) -> Callable[[], Layer]:
    return lambda: _layer(scope, included)


def _layer(scope: NginxScope, included: Sequence[Directive]) -> Layer:
    notes = ReadingNotes()
    for one in included:
        notes.not_understood(_node(one), "is another file, which may say more of calls: name it here as well", one.text)
    limits = [*_rates(scope, notes), *_connections(scope, notes)]
    retry = _retry(scope, notes)
    attempt = _attempt(scope, notes)
    _left_out(scope, notes)
    words = (scope.one("proxy_next_upstream") or Directive("", (), scope.blocks[0].place)).words
    repeats = retry[0].place if retry and ANY_METHOD in words else None
    policies = (*limits, *retry, *attempt)
    return Layer(
        PRODUCT, scope.name, scope.blocks[0].place, policies, notes=tuple(notes.found), repeats_any_method=repeats
    )


def _node(one: Directive) -> FileNode:
    return FileNode(" ".join(one.words), one.place, PathStep(one.name))


def _retry(scope: NginxScope, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    """Return the further attempts at other servers: as many as there are, without a pause between them."""
    servers = _servers(scope, notes)
    tries = scope.one("proxy_next_upstream_tries")
    section = FieldReader(notes)
    most = section.count_of(_node(tries)) if tries else 0
    attempts = min(most, servers) if most else servers
    on = scope.one("proxy_next_upstream")
    words = on.words if on else ("error", "timeout")
    if attempts < 2 or OFF in words:  # noqa: PLR2004 - without a second attempt there is no retry
        return ()
    at = _node(on or scope.upstream or scope.blocks[0])
    why = "each attempt goes to another server there, and a POST only with `non_idempotent`; a study tries all again"
    notes.add(NoteKind.APPROXIMATED, at, why, f"{attempts} attempts")
    acts: Failures = frozenset().union(*(_meant(word, at, notes) for word in words))
    backoff = {"fixed": {"delay": Duration(0)}}
    fields = {"max_attempts": attempts, "backoff": backoff, "jitter": "none", "on": listed(acts)}
    return read_policies("retry", {**fields, "retry_after_max": Duration(0)}, section, at)


def _servers(scope: NginxScope, notes: ReadingNotes) -> int:
    """Return how many servers there are to try; one where only code knows them, which is noted."""
    upstream = scope.upstream
    for one in upstream.block or () if upstream else ():
        if one.name.startswith("balancer_by_lua"):
            notes.not_understood(_node(one), "decides which servers are tried, and how many", one.text)
            return 1
    return len([one for one in upstream.named("server") if "down" not in one.words]) if upstream else 1


def _meant(word: str, at: FileNode, notes: ReadingNotes) -> Failures:
    if word in FAILURES:
        return FAILURES[word]
    if word not in (ANY_METHOD, "updating"):
        notes.not_understood(at, "isn't known here", word)
    return frozenset()


def _attempt(scope: NginxScope, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    """Return the time-out of an attempt: how long nginx waits for each part of an answer."""
    own = scope.one("proxy_read_timeout")
    section = FieldReader(notes)
    at = _node(own or next(scope.blocks[0].named("proxy_pass")))
    time = section.of(at, NGINX) if own else MINUTE
    if own is None:
        notes.add(NoteKind.DEFAULT, at, "is 60s where it is left out", "proxy_read_timeout")
    why = "bounds the time between two parts of an answer there, and the whole answer in a study"
    notes.add(NoteKind.APPROXIMATED, at, why, "proxy_read_timeout")
    return read_policies("timeout", time, section, at)


def _rates(scope: NginxScope, notes: ReadingNotes) -> Iterator[ReadPolicy]:
    for one in scope.all("limit_req"):
        zone = scope.zones.get(_zone(one))
        rate = next((found for word in (zone.words if zone else ()) if (found := _RATE.fullmatch(word))), None)
        if zone is None or rate is None:
            notes.not_understood(_node(one), "its zone has no rate in this file")
            continue
        yield from _rate(one, zone, int(rate[1]), 1_000_000 if rate[2] == "s" else 60_000_000, notes)


def _rate(one: Directive, zone: Directive, calls: int, per_us: int, notes: ReadingNotes) -> tuple[ReadPolicy, ...]:
    """Return a limit: as many requests as ``delay`` says go at once, and the others of a burst wait for their turn."""
    at, section = _node(one), FieldReader(notes)
    burst = _number_of("burst", one, section)
    at_once = burst if "nodelay" in one.words else min(_number_of("delay", one, section), burst)
    fields = {
        "calls": calls,
        "per": Duration(per_us),
        "burst": at_once + 1,
        "max_wait": Duration(per_us * (burst - at_once) // max(calls, 1)),
        "scope": _scope(zone, at, notes),
    }
    return read_policies("rate_limit", fields, section, at)


def _number_of(name: str, one: Directive, section: FieldReader) -> int:
    """Return the number of a word such as ``burst=12``; 0 without it."""
    found = [word.partition("=")[2] for word in one.words if word.startswith(f"{name}=")]
    return (section.count_of(FileNode(found[0], one.place, PathStep(name))) or 0) if found else 0


def _scope(zone: Directive, at: FileNode, notes: ReadingNotes) -> str:
    """Return whether a limit is of each client or of all: a key that differs between clients has a variable of them."""
    key = zone.words[0] if zone.words else ""
    if not key.startswith("$") or key in ("$server_name", "$host", "$uri", "$request_uri"):
        return "client"
    notes.add(NoteKind.APPROXIMATED, at, f"counts by {key}; in a study each user has a key of its own")
    return "user"


def _connections(scope: NginxScope, notes: ReadingNotes) -> Iterator[ReadPolicy]:
    for one in scope.all("limit_conn"):
        at, section = _node(one), FieldReader(notes)
        zone = scope.zones.get(one.words[0] if one.words else "")
        most = section.count_of(FileNode(one.words[-1] if one.words else "", one.place, PathStep("limit_conn")))
        if zone is None:
            notes.not_understood(at, "its zone isn't in this file")
            continue
        fields = {"max_concurrent": most, "max_waiting": 0, "scope": _scope(zone, at, notes)}
        yield from read_policies("bulkhead", fields, section, at)


def _left_out(scope: NginxScope, notes: ReadingNotes) -> None:
    """Note what acts here and no policy of a study says."""
    reasons = {
        "proxy_next_upstream_timeout": "no attempt begins later there, but one that has begun goes on",
        "proxy_connect_timeout": "bounds connecting only",
        "proxy_send_timeout": "bounds the time between two writes of a request",
    }
    for name, why in reasons.items():
        one = scope.one(name)
        if one and one.words[:1] != ("0",):
            notes.add(NoteKind.INEXPRESSIBLE, _node(one), why)
    for server in scope.upstream.named("server") if scope.upstream else ():
        if any(word.startswith(("max_fails=", "fail_timeout=", "max_conns=")) for word in server.words):
            why = "leaves out, or bounds, one server of several; a client of a study knows one"
            notes.add(NoteKind.INEXPRESSIBLE, _node(server), why, server.text)
