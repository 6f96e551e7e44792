"""Clusters of Ray: one of our own on this machine, for a trial, and whether someone else's lets anybody in."""

from __future__ import annotations

import os
import secrets
import socket
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from patternbench.lab.host.processes import Process, SilentProcessError, StartError
from patternbench.terms.units import Duration

COMES_UP_S, ANSWERS_S = 60.0, 25.0
"""How long our own cluster may take to come up, and another one to answer, in seconds."""
GRACE = Duration.parse("2s")
NODES = """
import signal, sys
from ray.cluster_utils import Cluster
usual = {"include_dashboard": False, "object_store_memory": 256 << 20}
cluster = Cluster(initialize_head=True, head_node_args={**usual, "num_cpus": 0})
for _ in range(int(sys.argv[1])):
    cluster.add_node(**usual, num_cpus=int(sys.argv[2]))
print(cluster.address, flush=True)
signal.pause()
"""
"""Nodes on this machine, of which the first only coordinates. They stay up until the guard ends them."""
STRANGER = "import sys, ray; ray.init(address=sys.argv[1], log_to_driver=False, logging_level=40); print('in')"


def by_token(token: str) -> dict[str, str]:
    """Return the environment of a process that knows a cluster's token, and reports no usage to anybody."""
    return {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token, "RAY_USAGE_STATS_ENABLED": "0"}


@contextmanager
def own_cluster(nodes: int, folder: Path) -> Iterator[tuple[str, Mapping[str, str]]]:
    """Yield a cluster of nodes on this machine, and the environment of those who may use it. Raises StartError."""
    env = by_token(secrets.token_hex(32))
    command = [sys.executable, "-c", NODES, str(nodes), str(len(os.sched_getaffinity(0)))]
    with Process("ray", command, folder, env, grace=GRACE) as cluster:
        yield _output(cluster, COMES_UP_S), env


def takes_any_token(address: str, folder: Path) -> bool:
    """Whether a cluster lets in a stranger, who makes a token up."""
    command = [sys.executable, "-c", STRANGER, address]
    with Process("ray-stranger", command, folder, by_token(secrets.token_hex(32))) as stranger:
        try:
            return _output(stranger, ANSWERS_S) == "in"
        except StartError:
            return False


def answers(address: str) -> bool:
    """Whether anything listens at an address ``HOST:PORT``: Ray itself would wait for long where nothing does."""
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), timeout=5).close()
    except (OSError, ValueError):
        return False
    return True


def _output(process: Process, within_s: float) -> str:
    """Return the first line that a process prints."""
    try:
        line = next(process.lines(silence=within_s), b"")
    except SilentProcessError:
        line = b""
    if not line:
        raise StartError(process.why_not())
    return line.decode(errors="replace").strip()
