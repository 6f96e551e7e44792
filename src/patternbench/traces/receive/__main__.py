"""The receiver as a process: ``python -m patternbench.traces.receive --port 4318 --grpc-port 4317 --folder DIR``."""

from __future__ import annotations

import argparse
import asyncio
import resource
import sys
from pathlib import Path

import uvicorn

from patternbench.traces.receive.app import Receiver
from patternbench.traces.receive.bounds import KEEP_ALIVE_S
from patternbench.traces.receive.grpc_app import PortError, receiving
from patternbench.traces.receive.spool import Spool


def allow_connections() -> None:
    """Take as many open files as the system lets us: idle connections must leave some for the runner's own."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


async def serve(spool: Spool, port: int, grpc_port: int) -> None:
    """Serve on loopback, by HTTP and by gRPC, until a signal to end."""
    served = uvicorn.Config(
        Receiver(spool),
        host="127.0.0.1",
        port=port,
        access_log=False,
        log_level="warning",
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    async with receiving(spool, grpc_port):
        await uvicorn.Server(served).serve()


def main() -> None:
    """Serve until a signal to end."""
    parser = argparse.ArgumentParser(prog="patternbench.traces.receive", description=__doc__)
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--grpc-port", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the spans of a round are kept")
    parser.add_argument("--most-spans", type=int, required=True, help="of a round; more are counted and left out")
    options = parser.parse_args()
    allow_connections()
    try:
        asyncio.run(serve(Spool(options.folder, options.most_spans), options.port, options.grpc_port))
    except PortError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass  # a signal to end, which uvicorn passes on


if __name__ == "__main__":
    main()
