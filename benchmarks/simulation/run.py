"""What simulated time costs: customers per CPU-second next to SimPy and nexosim, growth with size, a graph of 1,000.

    .venv/bin/python -m benchmarks.simulation.run [--rounds 5] [--customers 1000000]

All three simulate the same queue with four servers, exponential times and a load of 80 %, and keep the mean time of a
customer. They take turns; CPU time is that of the whole process, its start included. SimPy comes from PyPI,
nexosim is built from ``peers/nexosim`` (a single thread), and left out and named where there is no compiler.

``.venv/bin/python -m benchmarks.simulation.tables`` prints the tables of the committed run.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.common import ENGINE, ProcessOutput, run
from benchmarks.evidence import Result, store
from benchmarks.simulation.tables import GRAPH, NEXOSIM, OURS, PART, SIMPY, SIZES, printed

PEERS = Path(__file__).resolve().parent / "peers"
WORKERS, MEAN_S, RATE = 4, 0.005, 640.0
"""A load of 80 %, at which a customer takes 8.7 ms on average, the wait included (Erlang's C)."""
SERVICES, STARTED, BELOW = 1000, 8, 4
"""Services of the graph; how many the entry calls on average, and how many each of those: 40 calls."""
GRAPH_RATE, GRAPH_S = 1000.0, 60


def main() -> None:
    parser = argparse.ArgumentParser(description="What simulated time costs.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--customers", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        rows = list(measured(Path(folder), arguments.rounds, arguments.customers))
    options = {"rounds": arguments.rounds, "customers": arguments.customers}
    print(printed(store(PART, options, arguments.out, rounds=rows)))


def measured(folder: Path, rounds: int, customers: int) -> Iterator[Result]:
    """Yield the rounds: every peer on the same queue, then ours by size, then the graph."""
    peers = {OURS: queue, **found(folder)}
    for number in range(rounds):
        for name in sorted(peers, reverse=number % 2 == 0):
            yield {"case": "queue", "round": number, "tool": name, **peers[name](folder, customers, number + 1)}
        for size in SIZES:
            yield {"case": "size", "round": number, "customers": size, **queue(folder, size, number + 1)}
        yield {"case": GRAPH, "round": number, **graph(folder, number + 1)}


def found(folder: Path) -> dict[str, Any]:
    """Return the peers that are there."""
    peers: dict[str, Any] = {}
    command = [str(with_simpy(folder)), str(PEERS / "mmc.py")]
    # A twentieth of the customers: it would take long for all.
    peers[SIMPY] = lambda scratch, customers, seed: of_peer(command, scratch, max(customers // 20, 1000), seed)
    binary = built(folder)
    if binary:
        peers[NEXOSIM] = lambda scratch, customers, seed: of_peer([str(binary)], scratch, customers, seed)
    return peers


def built(folder: Path) -> Path | None:
    """Return the peer in Rust, built; None without a compiler."""
    if not shutil.which("cargo"):
        return None
    manifest = PEERS / "nexosim" / "Cargo.toml"
    run(["cargo", "build", "--release", "--locked", "--manifest-path", str(manifest)], folder)
    return manifest.parent / "target" / "release" / "mmc"


def with_simpy(folder: Path) -> Path:
    """Return a Python that has SimPy, made for the occasion."""
    own = folder / "simpy"
    run([sys.executable, "-m", "venv", str(own)], folder)
    python = own / "bin" / "python"
    run([str(python), "-m", "pip", "install", "--quiet", "simpy==4.1.1"], folder)
    return python


def of_peer(command: list[str], folder: Path, customers: int, seed: int) -> Result:
    """Return what a peer needed, and the mean time of a customer that it found."""
    values = [str(value) for value in (customers, WORKERS, RATE, MEAN_S, seed)]
    ran = run([*command, *values], folder)
    return {**used(ran, customers), "mean_ms": 1000 * float(ran.output)}


def used(ran: ProcessOutput, customers: int) -> Result:
    """Return CPU time and memory of a process, and the customers per CPU-second."""
    return {"cpu_s": ran.cpu, "peak_mib": ran.peak_kib / 1024, "per_cpu_s": customers / ran.cpu}


def queue(folder: Path, customers: int, seed: int) -> Result:
    """Simulate the queue with the engine."""
    service = {"workers": WORKERS, "times": {"exponential_us": 1e6 * MEAN_S}}
    arrivals = {"open": {"schedule": {"constant": {"rate": RATE}}, "spacing": "poisson", "max_in_flight": 1_000_000}}
    arrivals["open"]["calls"] = customers
    model = {"model": 1, "service": service}
    return simulated(folder, model, arrivals, seconds=2 * customers / RATE, seed=seed, customers=customers)


def graph(folder: Path, seed: int) -> Result:
    """Simulate a graph of services under a load that each request multiplies by 40 calls."""
    arrivals = {
        "open": {"schedule": {"constant": {"rate": GRAPH_RATE}}, "spacing": "poisson", "max_in_flight": 100_000}
    }
    requests = int(GRAPH_RATE * GRAPH_S)
    return simulated(folder, graph_model(), arrivals, seconds=GRAPH_S, seed=seed, customers=requests)


def graph_model() -> Result:
    """Return a thousand services in three layers; a request makes forty calls on average."""
    first = [f"a{number}" for number in range(SERVICES // 8 - 1)]
    second = [f"b{number}" for number in range(SERVICES - 1 - len(first))]
    share = STARTED / len(first)
    services: dict[str, Any] = {
        "entry": {
            "workers": 1000,
            "times": {"exponential_us": 200},
            "calls": [[{"to": n, "share": share} for n in first]],
        }
    }
    for number, name in enumerate(first):
        below = [{"to": second[(number * 7 + k) % len(second)]} for k in range(BELOW)]
        services[name] = {"workers": 16, "times": {"exponential_us": 500}, "calls": [below]}
    services |= {name: {"workers": 16, "times": {"exponential_us": 500}} for name in second}
    return {"model": 1, "entry": "entry", "network_us": 50, "services": services}


def simulated(folder: Path, model: Result, arrivals: Result, *, seconds: float, seed: int, customers: int) -> Result:
    """Run the engine in simulated time and return what it needed, and its events."""
    job = {
        "contract": 1,
        "seed": seed,
        "targets": [{"url": "http://127.0.0.1:1"}],
        "priority": False,
        "log_attempts": False,
        "duration_us": int(seconds * 1e6),
        "groups": [{"workload": arrivals, "journeys": [{"steps": [{"timeout_us": 60_000_000}]}]}],
    }
    (folder / "job.json").write_text(json.dumps(job))
    (folder / "model.json").write_text(json.dumps({**model, "seed": seed}))
    files = ["--job", str(folder / "job.json"), "--model", str(folder / "model.json"), "--out", str(folder / "out")]
    ran = run([str(ENGINE), "simulate", *files], folder)
    end = json.loads(ran.output.splitlines()[-1])["end"]
    median_ms = end["response_ms"]["p50"]
    return {**used(ran, customers), "events": end["events"], "calls": end["calls"], "median_ms": median_ms}


if __name__ == "__main__":
    main()
