"""The failures that Envoy's words for retries stand for, which Istio's are too.

Source: the documentation of ``x-envoy-retry-on`` and ``x-envoy-retry-grpc-on`` of Envoy 1.40.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from patternbench.configurations.reading.failures import SERVER, UNANSWERED, Failures
from patternbench.configurations.reading.notes import NoteKind, ReadingNotes
from patternbench.study.text.nodes import FileNode

GATEWAY: Failures = frozenset({502, 503, 504})
REFUSED: Failures = frozenset({"connection_error"})
WORDS: Mapping[str, Failures] = {
    "5xx": SERVER | UNANSWERED,
    "gateway-error": GATEWAY | UNANSWERED,
    "reset": UNANSWERED,
    "reset-before-request": REFUSED,
    "connect-failure": REFUSED,
    "refused-stream": REFUSED,
    "http3-post-connect-failure": REFUSED,
    "retriable-4xx": frozenset({409}),
}
OF_GRPC = ("cancelled", "deadline-exceeded", "internal", "resource-exhausted", "unavailable")
STATUS_CODES, HEADERS, RATE_LIMITED = "retriable-status-codes", "retriable-headers", "envoy-ratelimited"


@dataclass(frozen=True)
class RetryWords:
    """A list of such words, and where it is written."""

    node: FileNode
    statuses: tuple[int, ...] = ()
    by_headers: Failures = frozenset()

    def failures(self, notes: ReadingNotes) -> Failures:
        """Return the failures that the list stands for; what isn't one of HTTP, or isn't known, is noted."""
        words = [word.strip() for word in str(self.node.scalar or "").split(",") if word.strip()]
        found: Failures = frozenset(self.statuses if STATUS_CODES in words else ())
        for word in words:
            found |= self._meant(word, notes)
        return found

    def _meant(self, word: str, notes: ReadingNotes) -> Failures:
        if word in WORDS:
            return WORDS[word]
        if word.isdigit() and len(word) == 3:  # noqa: PLR2004 - the digits of a status
            return frozenset({int(word)})
        if word in OF_GRPC:
            notes.add(NoteKind.INEXPRESSIBLE, self.node, "is a status of gRPC", word)
        elif word == HEADERS and self.by_headers:
            return self.by_headers
        elif word != STATUS_CODES:
            notes.not_understood(self.node, "isn't known here, or is decided by what isn't in the file", word)
        return frozenset()


def statuses(nodes: Iterable[FileNode], notes: ReadingNotes) -> tuple[int, ...]:
    """Return the statuses of a list."""
    found = []
    for node in nodes:
        if isinstance(node.scalar, int) or str(node.scalar).isdigit():
            found.append(int(str(node.scalar)))
        else:
            notes.not_understood(node, "isn't a status")
    return tuple(found)
