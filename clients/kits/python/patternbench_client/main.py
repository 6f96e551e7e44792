"""Starts a client, and says where it listens."""

from __future__ import annotations

import asyncio
import json
import signal
import sys

from patternbench_client.adapter import Adapter
from patternbench_client.loop import precise
from patternbench_client.rounds import CONTRACT, Request, Round
from patternbench_client.server import ContractServer
from patternbench_client.users import RunningRound

LARGEST_HEAD = 16 * 1024 * 1024


def serve(adapter: Adapter) -> None:
    """Serve the contract on ``--port`` (0, the default, takes a free one) until SIGTERM."""
    with asyncio.Runner(loop_factory=precise) as runner:
        runner.run(_serve(adapter, _port(sys.argv[1:])))


def _port(arguments: list[str]) -> int:
    match arguments:
        case []:
            return 0
        case ["--port", text] if text.isdigit() and int(text) <= 65535:  # noqa: PLR2004 - the largest port
            return int(text)
    sys.exit(f"error: cannot read {' '.join(arguments)!r}; allowed: --port PORT, from 0 to 65535")


async def _serve(adapter: Adapter, port: int) -> None:
    server = ContractServer(adapter)
    try:
        listening = await asyncio.start_server(server.answer, "127.0.0.1", port, limit=LARGEST_HEAD)
    except OSError as error:
        sys.exit(f"error: cannot listen on port {port}: {error.strerror}; --port 0 takes a free one")
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    address = f"127.0.0.1:{listening.sockets[0].getsockname()[1]}"
    await _warmed(f"http://{address}", adapter)
    print(json.dumps({"listening": address}), flush=True)
    await ended.wait()


async def _warmed(itself: str, adapter: Adapter) -> None:
    """Call itself a few times: the first request of a process loads modules, which no round should pay for."""
    request = Request("GET", "/client", {}, None, 2_000_000)
    ends = {"successes": 20, "max_attempts": 20, "time_limit_us": 2_000_000}
    plain = {"think_time_us": 0, "rejected_pause_us": 1000, "seed": 0, "kind": "baseline", "policies": ()}
    running = RunningRound(Round(CONTRACT, itself, request, users=1, **ends, **plain), adapter)
    running.start()
    await running.end()
    await running.close()
