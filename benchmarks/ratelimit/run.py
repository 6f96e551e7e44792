"""What a rate limit costs: latency and CPU of every algorithm and store, next to nginx's and Envoy's own.

``.venv/bin/python -m benchmarks.ratelimit.run --rounds 5`` runs all variants in one go, interleaved, in
a shuffled order with a recorded seed. Each visit of a variant is one round of it: first an open workload at a
moderate rate, driven by the engine, for latency; then sixteen connections of wrk for CPU. Every request passes
(limits are high), over 1,000 clients.
Comparisons are made within a round. Where clients come near their limit, only latency and what the leases save are
measured, and 429 is an answer too. CPU is that of the balancer's worker, not of the store or service.
"""

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.evidence import store
from benchmarks.ratelimit.goals import PART, printed
from benchmarks.ratelimit.systems import (
    BACKEND,
    BARE,
    ENVOY,
    NATIVE,
    NEAR_CLIENTS,
    NEAR_LIMIT,
    NEAR_SECONDS,
    NEAR_SHARE,
    PING,
    ROOT,
    Nginx,
    Ping,
    Stores,
    variants,
    workplace,
)

ENGINE = os.environ.get("PATTERNBENCH_ENGINE", str(ROOT / "engine" / "target" / "release" / "patternbench-engine"))

CLIENTS = """
local n, requests = 0, {}
function init()
  for i = 0, 999 do
    requests[i] = wrk.format("GET", "/", { ["X-Api-Key"] = "client-" .. i })
  end
end
function request()
  n = (n + 1) % 1000
  return requests[n]
end
function done(summary, latency)
  io.write(string.format("RESULT %d %d %d\\n", summary.requests, summary.duration, summary.errors.status))
end
"""


def cpu_seconds(pids: list[int]) -> float:
    """Return the time that processes have been on a CPU, all their threads together."""
    total = 0
    for pid in pids:
        for thread in Path(f"/proc/{pid}/task").iterdir():
            total += int((thread / "schedstat").read_text(encoding="utf-8").split()[0])
    return total / 1e9


def drive(url: str, script: Path, seconds: int) -> tuple[int, float]:
    """Return requests and seconds of one run of wrk with sixteen connections."""
    command = ["wrk", "-t1", "-c16", f"-d{seconds}s", "-s", str(script), url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"RESULT (\d+) (\d+) (\d+)", text)
    assert found, text
    assert found[3] == "0", f"{url}: {found[3]} of {found[1]} requests were not answered with 200"
    return int(found[1]), int(found[2]) / 1e6


def latency(
    url: str, rate: float, seconds: int, clients: int = 1000, statuses: tuple[str, ...] = ("200",)
) -> dict[str, float]:
    """Return an open workload's percentiles of the service time in microseconds, and the rejected share in percent."""
    workload = {"open": {"schedule": {"constant": {"rate": rate}}, "users": 16}}
    step = {"headers": {"X-Api-Key": f"client-${{random:0-{clients - 1}}}"}, "expect": {"statuses": list(statuses)}}
    job = {
        "contract": 1,
        "seed": 1,
        "log_attempts": False,
        "targets": [{"url": url}],
        "warm_up_us": 500_000,
        "duration_us": seconds * 1_000_000,
        "groups": [{"workload": workload, "journeys": [{"steps": [step]}]}],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "job.json").write_text(json.dumps(job), encoding="utf-8")
        command = [ENGINE, "load", "--job", f"{folder}/job.json", "--out", f"{folder}/out"]
        subprocess.run(command, check=True, capture_output=True)
        summary = json.loads((Path(folder) / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["errors"] == 0, f"{url}: {summary['errors']} of {summary['requests']} requests failed"
    rejected = 100 * summary["statuses"].get("4xx", 0) / summary["requests"]
    return {**{f"{name}_us": 1000 * summary["service_ms"][name] for name in ("p50", "p99")}, "rejected": rejected}


def has_lua(system: Nginx) -> bool:
    """Say whether a server has the filter, and so its page of metrics."""
    return 'require("ratelimit").access()' in system.config.read_text(encoding="utf-8")


def off_the_path(system: Any) -> dict[str, float]:
    """Return the percentage of decisions for which no store was called, before or after."""
    if not isinstance(system, Nginx) or not has_lua(system) or not system.metric("ratelimit_lease_batches_total"):
        return {}
    calls = sum(system.metric(f"ratelimit_lease_{what}_total") for what in ("batches", "settled"))
    calls += system.metric("ratelimit_decided_by_total", by="store")
    return {"off_the_path": 100 * (1 - calls / system.metric("ratelimit_decisions_total"))}


def visit_near_limit(system: Nginx) -> dict[str, float]:
    """Measure once how clients fare that ask for a little more than their limit allows."""
    system.start()
    try:
        rate = NEAR_CLIENTS * NEAR_LIMIT * NEAR_SHARE
        return {**latency(system.url, rate, NEAR_SECONDS, NEAR_CLIENTS, ("200", "429")), **off_the_path(system)}
    finally:
        system.stop()


def visit(system: Any, script: Path, rate: int, seconds: int) -> dict[str, float]:
    """Measure one variant once."""
    system.start()
    try:
        drive(system.url, script, 1)
        quiet = latency(system.url, rate, seconds)
        pids = system.workers()
        before = cpu_seconds(pids)
        requests, elapsed = drive(system.url, script, seconds)
        used = cpu_seconds(pids) - before
        leases = off_the_path(system)
    finally:
        system.stop()
    return {
        **quiet,
        **leases,
        "requests_per_second": requests / elapsed,
        "requests_per_cpu_second": requests / used,
    }


def measured_once(name: str, system: Any, script: Path, options: argparse.Namespace) -> dict[str, float]:
    """Measure a variant in the way that its kind asks for."""
    if isinstance(system, Ping):
        return system.measured()
    if name.endswith("near the limit"):
        return visit_near_limit(system)
    return visit(system, script, options.rate, options.seconds)


def measure(systems: dict[str, Any], script: Path, options: argparse.Namespace) -> list[dict[str, Any]]:
    """Visit every variant once a round, in a shuffled order."""
    rng, rows = random.Random(options.seed), []
    for number in range(options.rounds):
        order = list(systems)
        rng.shuffle(order)
        for name in order:
            measured = measured_once(name, systems[name], script, options)
            rows.append({"round": number, "variant": name, "load": os.getloadavg()[0], **measured})
            print(f"round {number + 1}/{options.rounds}: {name}", file=sys.stderr)
    return rows


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="What a rate limit costs.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2, help="of each of a visit's two parts")
    parser.add_argument("--rate", type=int, default=1000, help="requests per second in the part for latency")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression on variants; baselines always run")
    parser.add_argument("--out", type=Path, help="where the raw results go [default: the committed file]")
    return parser.parse_args()


def main() -> None:
    """Run the benchmark; write its rounds, print its tables."""
    options = parse()
    if not Path(ENGINE).exists():
        sys.exit(f"the engine is not at {ENGINE}: build it (make setup), or set PATTERNBENCH_ENGINE=/path/to/it")
    with workplace("rlb-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        script = folder / "clients.lua"
        script.write_text(CLIENTS, encoding="utf-8")
        stores = Stores.start(folder)
        try:
            every = variants(folder, stores)
            always = (BACKEND, BARE, NATIVE, ENVOY, PING)
            chosen = {n: s for n, s in every.items() if n in always or re.search(options.only, n)}
            rows = measure(chosen, script, options)
        finally:
            stores.stop()
    reported = {name: getattr(options, name) for name in ("rounds", "seconds", "rate", "seed")}
    store(PART, reported, options.out, rounds=rows)
    print(printed(rows))


if __name__ == "__main__":
    main()
