"""What a rate limit costs: latency and CPU of every algorithm and store, beside nginx's and Envoy's own.

`python benchmarks/ratelimit/run.py --rounds 5 --seconds 2 --out result.json` runs all variants in one go,
interleaved, in a shuffled order with a recorded seed. Each visit of a variant is one round: a closed loop of
one connection for latency, then sixteen for throughput and CPU. Every request passes (limits are high), over
1,000 clients. Added latency is the difference to "no filter" of the same round; the table gives medians over
rounds and, in brackets, the smallest and largest. CPU is that of the balancer's worker, not of the store.
"""

import argparse
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "integration" / "ratelimit"))

from ratelimit_rig import (  # noqa: E402
    ALGORITHMS,
    Component,
    MariaDB,
    Nginx,
    Redis,
    backend,
    balancer,
    eventually,
    free_port,
    limit,
    listens,
    plan,
    quiet_folder,
)

CLIENTS = """
local n = 0
function request()
  n = (n + 1) %% 1000
  return wrk.format("GET", "/", { ["X-Api-Key"] = "client-" .. n })
end
function done(summary, latency)
  io.write(string.format("RESULT %%d %%d %%.1f %%.1f %%d\\n", summary.requests, summary.duration,
    latency:percentile(50), latency:percentile(99), summary.errors.status))
end
"""

LIMIT_REQ = "limit_req_zone $http_x_api_key zone=z:16m rate=1000000r/s;"

MANAGER = "type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager"
ENVOY = """
static_resources:
  listeners:
  - address: {{socket_address: {{address: 127.0.0.1, port_value: {port}}}}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": {manager}
          stat_prefix: in
          generate_request_id: false
          route_config:
            virtual_hosts:
            - {{name: all, domains: ["*"], routes: [{{match: {{prefix: /}}, route: {{cluster: service}}}}]}}
          http_filters:
{filter}          - name: envoy.filters.http.router
            typed_config: {{"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}}
  clusters:
  - name: service
    load_assignment:
      cluster_name: service
      endpoints:
      - lb_endpoints:
        - endpoint: {{address: {{socket_address: {{address: 127.0.0.1, port_value: {behind}}}}}}}
"""

ENVOY_LIMIT = """          - name: envoy.filters.http.local_ratelimit
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.filters.http.local_ratelimit.v3.LocalRateLimit
              stat_prefix: local
              token_bucket: {max_tokens: 1000000000, tokens_per_fill: 1000000000, fill_interval: 1s}
              filter_enabled: {default_value: {numerator: 100, denominator: HUNDRED}}
              filter_enforced: {default_value: {numerator: 100, denominator: HUNDRED}}
"""


class Envoy(Component):
    """An Envoy with one worker thread, with or without its local rate limit."""

    def __init__(self, folder: Path, behind: int, limited: bool) -> None:
        folder.mkdir(parents=True)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        config = folder / "envoy.yaml"
        text = ENVOY.format(manager=MANAGER, port=self.port, behind=behind, filter=ENVOY_LIMIT if limited else "")
        config.write_text(text, encoding="utf-8")
        binary = str(Path(sys.executable).parent / "envoy")
        command = [binary, "-c", str(config), "--concurrency", "1", "--use-dynamic-base-id", "-l", "warning"]
        super().__init__([*command, "--disable-hot-restart"], folder / "log")

    def start(self) -> "Envoy":
        self.launch()
        eventually(lambda: listens(self.port), 30)
        return self

    def workers(self) -> list[int]:
        assert self.process
        return [self.process.pid]


def generous(algorithm: str, **more: Any) -> dict[str, Any]:
    """Return a limit that a client of this benchmark never reaches; a log of 1,000 entries."""
    many = 1000 if algorithm == "sliding_window_log" else 1_000_000
    return limit(algorithm, limit=many, **{"window": "1s", **more})


def variants(folder: Path, behind: int, stores: dict[str, Any]) -> dict[str, Any]:
    """Return every system to compare, by name, not started."""

    def nginx(name: str, filter_plan: dict[str, Any], extra: Callable[[str], str] = lambda t: t) -> Nginx:
        made = balancer(folder / re.sub(r"\W+", "-", name), filter_plan, behind, workers=1, extra=extra)
        made.plan(filter_plan)  # without a decision log
        return made

    def bare(text: str) -> str:
        return re.sub(r"^\s*(init_by|init_worker_by|access_by)_lua.*$", "", text, flags=re.MULTILINE)

    def native(text: str) -> str:
        with_zone = bare(text).replace("upstream service", LIMIT_REQ + "\n  upstream service")
        return with_zone.replace("proxy_pass", "limit_req zone=z burst=1000000 nodelay; proxy_pass")

    nothing = plan()
    made: dict[str, Any] = {
        "no filter": nginx("no filter", nothing, bare),
        "nginx limit_req": nginx("limit_req", nothing, native),
        "filter without limits": nginx("empty", nothing),
    }
    for store in ["memory", *stores]:
        for algorithm in ALGORITHMS:
            name = f"{algorithm}, {store}"
            made[name] = nginx(name, plan(generous(algorithm, store=store), stores=stores))
    for mode in ("lazy", "eager"):
        lease = {"mode": mode, "share": 0.5, "most": 1000, "expires": "10s"}
        made[f"fixed_window, redis, {mode} lease"] = nginx(
            f"lease {mode}",
            plan(generous("fixed_window", store="redis", lease=lease, window="1m"), stores=stores),
        )
    envoy = Path(sys.executable).parent / "envoy"
    if envoy.exists():
        made["envoy without limit"] = Envoy(folder / "envoy-bare", behind, limited=False)
        made["envoy local_ratelimit"] = Envoy(folder / "envoy-limited", behind, limited=True)
    return made


def cpu_seconds(pids: list[int]) -> float:
    """Return user and system time of processes."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def drive(url: str, script: Path, connections: int, seconds: int) -> dict[str, float]:
    """Return requests, seconds, latency percentiles in microseconds, and errors of one run of wrk."""
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script), url]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = re.search(r"RESULT (\S+) (\S+) (\S+) (\S+) (\S+)", text)
    assert found, text
    requests, micros, p50, p99, errors = map(float, found.groups())
    assert errors == 0, f"{url}: {errors} of {requests} requests were not answered with 200"
    return {"requests": requests, "seconds": micros / 1e6, "p50": p50, "p99": p99}


def visit(system: Any, script: Path, seconds: int) -> dict[str, float]:
    """Measure one variant once."""
    system.start()
    try:
        drive(system.url, script, 4, 1)
        alone = drive(system.url, script, 1, seconds)
        pids = system.workers()
        before = cpu_seconds(pids)
        loaded = drive(system.url, script, 16, seconds)
        used = cpu_seconds(pids) - before
    finally:
        system.stop()
    return {
        "p50_us": alone["p50"],
        "p99_us": alone["p99"],
        "requests_per_second": loaded["requests"] / loaded["seconds"],
        "requests_per_cpu_second": loaded["requests"] / used,
    }


def measure(systems: dict[str, Any], script: Path, rounds: int, seconds: int, seed: int) -> list[dict[str, Any]]:
    """Visit every variant once a round, in a shuffled order."""
    rng, rows = random.Random(seed), []
    for number in range(rounds):
        order = list(systems)
        rng.shuffle(order)
        for name in order:
            rows.append({"round": number, "variant": name, **visit(systems[name], script, seconds)})
            print(f"round {number + 1}/{rounds}: {name}", file=sys.stderr)
    return rows


def spread(values: list[float], digits: int = 0) -> str:
    """Return median [smallest, largest]."""
    middle = statistics.median(values)
    return f"{middle:.{digits}f} [{min(values):.{digits}f}, {max(values):.{digits}f}]"


def baseline(name: str) -> str:
    """Return what a variant's added latency is measured against."""
    return "envoy without limit" if name.startswith("envoy") else "no filter"


def table(rows: list[dict[str, Any]]) -> str:
    """Return the comparison as Markdown."""
    by = {(row["round"], row["variant"]): row for row in rows}
    lines = [
        "| variant | added p50, µs | added p99, µs | requests / CPU-second | share of no filter's |",
        "|---|---|---|---|---|",
    ]
    for name in dict.fromkeys(sorted(row["variant"] for row in rows)):
        mine = [row for row in rows if row["variant"] == name]
        base = [by[row["round"], baseline(name)] for row in mine]
        pairs = list(zip(mine, base, strict=True))
        added = [spread([m[q] - b[q] for m, b in pairs]) for q in ("p50_us", "p99_us")]
        cpu = [m["requests_per_cpu_second"] for m in mine]
        share = [100 * m["requests_per_cpu_second"] / b["requests_per_cpu_second"] for m, b in pairs]
        lines.append(f"| {name} | {added[0]} | {added[1]} | {spread(cpu)} | {spread(share, 1)} % |")
    return "\n".join(lines)


def main() -> None:
    """Run the benchmark and write its rounds and its table."""
    parser = argparse.ArgumentParser(description="What a rate limit costs.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="a regular expression on variants; baselines always run")
    parser.add_argument("--out", type=Path, default=Path("ratelimit-benchmark.json"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rlb-", dir=quiet_folder()) as name:
        folder = Path(name)
        folder.chmod(0o755)
        script = folder / "clients.lua"
        script.write_text(CLIENTS.replace("%%", "%"), encoding="utf-8")
        service, redis, mariadb = (
            backend(folder / "backend"),
            Redis(folder / "redis"),
            MariaDB(folder / "mariadb"),
        )
        try:
            redis.start()
            mariadb.install()
            near = {"kind": "redis", "address": f"unix:{redis.socket}", "timeout": "1s"}
            stores = {"redis": redis.store(), "redis-unix": near, "mariadb": mariadb.store()}
            systems = {
                n: s
                for n, s in variants(folder, service.port, stores).items()
                if re.search(options.only, n) or n in ("no filter", "envoy without limit")
            }
            rows = measure(systems, script, options.rounds, options.seconds, options.seed)
        finally:
            for component in (service, redis, mariadb):
                component.stop()
    options.out.write_text(json.dumps({"seed": options.seed, "rounds": rows}, indent=1) + "\n", encoding="utf-8")
    print(table(rows))


if __name__ == "__main__":
    main()
