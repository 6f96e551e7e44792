"""A page that watches runs, as ``patternbench watch`` serves it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from patternbench.watch.hub import Hub
from patternbench.watch.server import PageServer


@contextmanager
def watching(*paths: Path) -> Iterator[PageServer]:
    """A page on these runs."""
    hub = Hub(list(paths))
    server = PageServer("127.0.0.1", 0, hub)
    hub.start()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        hub.stop()
