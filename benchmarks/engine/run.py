"""How much load a second of CPU drives: the engine, wrk, oha and k6 in turn against the same nginx.

Every round runs each tool once, in changing order. CPU time is that of the generator's own process,
user and system, as the kernel counts it. Usage: python benchmarks/engine/run.py --rounds 5 --seconds 5
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from common import Ran, job, load, nginx, run, table, tool

CONNECTIONS = 50
LATENESS_RUNS = 5
LATE = ("p50", "p99", "max")
K6 = """
import http from 'k6/http';
export const options = {{ vus: {users}, duration: '{seconds}s', discardResponseBodies: true }};
export default function () {{ http.get('{url}'); }}
"""

Measured = tuple[int, Ran]


def wrk(url: str, seconds: int, folder: Path) -> Measured:
    ran = run([tool("wrk") or "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", url], folder)
    found = re.search(r"(\d+) requests in", ran.output)
    return int(found[1]) if found else 0, ran


def oha(url: str, seconds: int, folder: Path) -> Measured:
    flags = ["--no-tui", "--output-format", "json", "-c", str(CONNECTIONS), "-z", f"{seconds}s"]
    ran = run([tool("oha") or "oha", *flags, url], folder)
    statuses = json.loads(ran.output)["statusCodeDistribution"]
    return sum(statuses.values()), ran


def k6(url: str, seconds: int, folder: Path, *more: str) -> Measured:
    (folder / "script.js").write_text(K6.format(users=CONNECTIONS, seconds=seconds, url=url))
    flags = ["run", "--quiet", "--no-usage-report", "--summary-export", "summary-k6.json", *more, "script.js"]
    ran = run([tool("k6") or "k6", *flags], folder)
    return int(json.loads((folder / "summary-k6.json").read_text())["metrics"]["http_reqs"]["count"]), ran


def k6_with_log(url: str, seconds: int, folder: Path) -> Measured:
    return k6(url, seconds, folder, "--out", "csv=k6.csv")


def engine(url: str, seconds: int, folder: Path, log: bool = True) -> Measured:
    workload = {"closed": {"users": CONNECTIONS}}
    summary, ran = load(job(url, workload, duration_us=seconds * 1_000_000, log_attempts=log), folder)
    return int(summary["requests"]), ran


def engine_without_log(url: str, seconds: int, folder: Path) -> Measured:
    return engine(url, seconds, folder, log=False)


TOOLS: dict[str, Callable[[str, int, Path], Measured]] = {
    "wrk": wrk,
    "engine": engine,
    "engine, no log": engine_without_log,
    "oha": oha,
    "k6": k6,
    "k6, CSV log": k6_with_log,
}


def compare(rounds: int, seconds: int) -> None:
    """Print the table of requests per CPU-second."""
    names = [name for name in TOOLS if name.startswith("engine") or tool(name.split(",")[0])]
    measured: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as url:
        for number in range(rounds):
            for name in names[number % len(names) :] + names[: number % len(names)]:
                folder = Path(tempfile.mkdtemp(dir=temporary))
                requests, ran = TOOLS[name](url, seconds, folder)
                measured[name].append((requests / ran.cpu, requests / ran.elapsed))
                print(
                    f"round {number + 1}: {name}: {requests / ran.cpu:,.0f} requests per CPU-second",
                    file=sys.stderr,
                )
    print(table(["generator", "requests per CPU-second", "of wrk", "from", "to", "requests/s"], rows_of(measured)))


def rows_of(measured: dict[str, list[tuple[float, float]]]) -> list[list[str]]:
    """Take medians over rounds, and ratios within each round: what slows all of them down cancels out."""
    rows = []
    for name, values in measured.items():
        ratios = [value[0] / base[0] for value, base in zip(values, measured["wrk"], strict=True)]
        cpu, rate = (statistics.median(value[index] for value in values) for index in (0, 1))
        spread = [f"{statistics.median(ratios):.2f}", f"{min(ratios):.2f}", f"{max(ratios):.2f}"]
        rows.append([name, f"{cpu:,.0f}", *spread, f"{rate:,.0f}"])
    return rows


def promises(requests: int) -> None:
    """Print memory, bytes per request, many connections, and lateness, each kind against an nginx of its own."""
    rows = [row for part in (lambda: long_run(requests), many_connections, punctuality) for row in part()]
    print(table(["promise", "measured"], rows))


def long_run(requests: int) -> list[list[str]]:
    workload = {"closed": {"users": CONNECTIONS, "until": {"calls": requests}}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as url:
        summary, ran = load(job(url, workload, duration_us=3600_000_000), Path(temporary))
    generator = summary["generator"]
    return [
        ["requests in one run", f"{summary['requests']:,}"],
        ["peak memory of it", f"{ran.peak_kib / 1024:.0f} MiB"],
        ["bytes per request on disk", f"{generator['log_bytes'] / generator['log_rows']:.2f}"],
        ["CPU of the log's thread", f"{100 * generator['log_cpu_s'] / summary['generator_cpu_s']:.1f} %"],
    ]


def many_connections() -> list[list[str]]:
    workload = {"closed": {"users": 10_000, "start_over_us": 1_000_000}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as url:
        summary, _ = load(job(url, workload, duration_us=4_000_000), Path(temporary))
    return [
        ["10,000 connections: opened", f"{summary['generator']['connections']:,}"],
        ["10,000 connections: failed attempts", f"{summary['errors']:,} of {summary['requests']:,}"],
    ]


def punctuality() -> list[list[str]]:
    workload = {"open": {"schedule": {"constant": {"rate": 20_000}}, "max_in_flight": 2000}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as url:
        found = [load(job(url, workload, duration_us=3_000_000), Path(temporary))[0] for _ in range(LATENESS_RUNS)]
    rows = [[f"20,000/s open: lateness {name}", spread([one["lateness_ms"][name] for one in found])] for name in LATE]
    sent, dropped = (sum(one[name] for one in found) for name in ("requests", "dropped"))
    shares = [one["generator"]["cpu_share"] for one in found]
    return [
        *rows,
        ["20,000/s open: sent, dropped", f"{sent:,}, {dropped:,}"],
        ["20,000/s open: share of one CPU", f"{statistics.median(shares):.2f}"],
    ]


def spread(values: list[float]) -> str:
    return f"{statistics.median(values):.3f} ms ({min(values):.3f} to {max(values):.3f} in {len(values)} runs)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=10_000_000, help="of the run that looks at memory")
    parser.add_argument("--only", choices=["compare", "promises"])
    arguments = parser.parse_args()
    if arguments.only != "promises":
        compare(arguments.rounds, arguments.seconds)
    if arguments.only != "compare":
        promises(arguments.requests)


if __name__ == "__main__":
    main()
