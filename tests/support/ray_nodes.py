"""A cluster of real Ray nodes on this machine that tests share: it takes one token, and nodes can be added to it."""

from __future__ import annotations

import json
import os
import secrets
import signal
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from patternbench.lab.host.processes import Process
from patternbench.lab.software.ray_cluster import by_token

COMES_UP_S = 90.0
CPUS = 2
TOKEN = secrets.token_hex(32)
"""One for all clusters of this process: Ray keeps the first that it reads."""
SCRIPT = """
import json, os, sys, threading, time
from ray._private.ray_constants import PROCESS_TYPE_RAYLET
from ray.cluster_utils import Cluster
usual = {"include_dashboard": False, "object_store_memory": 80 << 20}
usual["num_cpus"] = int(sys.argv[2])
quick = {
    "health_check_initial_delay_ms": 500,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 3000,
    "health_check_failure_threshold": 3,
    "max_direct_call_object_size": 1000,
    "automatic_object_spilling_enabled": False,
    "local_fs_capacity_threshold": 0.001,
}
def reap():
    while True:
        time.sleep(0.2)
        for node in cluster.list_all_nodes():
            for started in list(node.all_processes.values()):
                for one in started:
                    one.process.poll()
cluster = Cluster(initialize_head=True, head_node_args={**usual, "_system_config": quick})
threading.Thread(target=reap, daemon=True).start()
print(json.dumps({"address": cluster.address}), flush=True)
for line in os.fdopen(os.open(sys.argv[1], os.O_RDWR)):
    node = cluster.add_node(**usual, env_vars=json.loads(line))
    raylet = node.all_processes[PROCESS_TYPE_RAYLET][0].process.pid
    print(json.dumps({"name": node.node_id, "raylet": raylet}), flush=True)
"""
"""Nodes are given up for lost within seconds, all records travel through the object store, and what no longer fits into
that isn't put on the disk instead, as if that were full too. Processes that ended are waited for: a worker goes on as
long as its node's process is there, and be it as a zombie."""


@dataclass(frozen=True)
class Node:
    """A node: its id, and the process that makes it one."""

    name: str
    raylet: int


@dataclass
class RayNodes:
    """The cluster: its address, the environment of those who may use it, and the nodes beside its head.

    ``scratch`` is the folder in which programs of the nodes make their temporary ones.
    """

    address: str
    env: Mapping[str, str]
    scratch: Path
    _ask: Path
    _said: Iterator[bytes]
    nodes: list[Node] = field(default_factory=list)

    def add(self, **env: str) -> Node:
        """Bring one more node up, whose programs have more in their environment."""
        with self._ask.open("w") as asked:
            asked.write(json.dumps(env) + "\n")
        self.nodes.append(Node(**json.loads(next(self._said))))
        return self.nodes[-1]

    def kill(self, node: Node) -> None:
        """Kill a node, which is one of the cluster no more."""
        os.kill(node.raylet, signal.SIGKILL)
        self.nodes.remove(node)


@contextmanager
def ray_nodes(count: int, folder: Path) -> Iterator[RayNodes]:
    """A cluster with so many nodes beside its head, down after the context."""
    env, ask, scratch = by_token(TOKEN), folder / "ask", folder / "scratch"
    os.mkfifo(ask)
    scratch.mkdir()
    places = {"TMPDIR": str(scratch), "RAY_TMPDIR": "/tmp"}  # sockets of Ray bear no long path
    command = [sys.executable, "-c", SCRIPT, str(ask), str(CPUS)]
    with Process("ray-nodes", command, folder, {**env, **places}) as cluster:
        said = cluster.lines(COMES_UP_S)
        nodes = RayNodes(json.loads(next(said))["address"], env, scratch, ask, said)
        for _ in range(count):
            nodes.add()
        yield nodes
