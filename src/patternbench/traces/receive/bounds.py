"""What the receiver takes at most, by HTTP and by gRPC: bytes, exports at once, and seconds for a sender."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

MOST_BYTES = 8 << 20
"""Of a body or message, packed or unpacked; a full batch of an exporter (512 spans) has a fortieth of it."""
MOST_EXPORTS = 512
"""That are taken at once, by HTTP and by gRPC. Requests of the runner and connections without a request don't count."""
READ_S = 10.0
KEEP_ALIVE_S = 75
"""Longer than exporters wait between two batches, so that none meets a connection that is just being closed."""
GZIP = 16 + zlib.MAX_WBITS
OK, BAD, NOT_FOUND, NOT_ALLOWED, TIMED_OUT, TOO_LARGE, UNSUPPORTED, BUSY = 200, 400, 404, 405, 408, 413, 415, 503


class RefusedError(Exception):
    """A request cannot be taken: its status by HTTP, the reason that is counted, and why in words."""

    def __init__(self, status: int, reason: str, why: str) -> None:
        super().__init__(why)
        self.status, self.reason = status, reason


@dataclass
class ReadingSlots:
    """Counts the exports that are being read: ``taken``, of at most ``most``."""

    most: int
    taken: int = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Yield a place for one export; raises RefusedError if none is free."""
        if self.taken >= self.most:
            raise RefusedError(BUSY, "too_busy", f"{self.most} exports are being read; send again later")
        self.taken += 1
        try:
            yield
        finally:
            self.taken -= 1


def unpacked(raw: bytes) -> bytes:
    """Return the unpacked body, up to the limit: a gzip bomb is refused before it is unpacked."""
    unpacking = zlib.decompressobj(GZIP)
    try:
        body = unpacking.decompress(raw, MOST_BYTES + 1)
    except zlib.error as error:
        raise RefusedError(BAD, "bad_body", f"the body is not gzip: {error}") from None
    if len(body) > MOST_BYTES:
        raise too_large()
    if not unpacking.eof:
        raise RefusedError(BAD, "bad_body", "the body is not whole gzip")
    return body


def too_large() -> RefusedError:
    """Return the refusal of a body beyond the limit."""
    return RefusedError(TOO_LARGE, "too_large", f"a body may have at most {MOST_BYTES:,} bytes, unpacked too")
