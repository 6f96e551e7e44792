"""The receiver as a process: ``python -m patternbench.traces.receive --port 4318 --folder DIR``."""

from __future__ import annotations

import argparse
from pathlib import Path

import uvicorn

from patternbench.traces.receive.app import Receiver
from patternbench.traces.receive.spool import Spool

KEEP_ALIVE_S = 75
"""Longer than exporters wait between two batches, so that none meets a connection that is just being closed."""
MOST_CONNECTIONS = 512


def main() -> None:
    """Serve on loopback until a signal to end."""
    parser = argparse.ArgumentParser(prog="patternbench.traces.receive", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the spans of a round are kept")
    parser.add_argument("--most-spans", type=int, required=True, help="of a round; more are counted and left out")
    options = parser.parse_args()
    uvicorn.run(
        Receiver(Spool(options.folder, options.most_spans)),
        host="127.0.0.1",
        port=options.port,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE_S,
        limit_concurrency=MOST_CONNECTIONS,
    )


if __name__ == "__main__":
    main()
