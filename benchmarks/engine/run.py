"""How much load a second of CPU drives: the engine and its peers in turn against the same nginx.

Every round runs each tool once per case, in changing order. CPU time is that of the generator's own process, user and
system, as the kernel counts it. The cases: answers of 25 bytes, POSTs and answers of 1,000 bytes, TLS 1.3 without a
check of the certificate, and an open workload at a fixed rate. Closed cases have 50 users; the open one has at most 50
calls in flight. The engine gives up the priority that it takes by default, since no other has one.
wrk2 knows fixed rates only: in closed cases it gets one that no one reaches.

    .venv/bin/python -m benchmarks.engine.run [--rounds 5] [--seconds 2] [--only compare|promises]

``K6=/path/to/k6``, ``OHA=``, ``WRK2=`` and so on name what is not on PATH; who is absent is said with the table.
``.venv/bin/python -m benchmarks.engine.tables`` prints the tables of the committed runs.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.common import ProcessOutput, job, load, nginx, run, tool
from benchmarks.engine.tables import COMPARE, PROMISES, printed
from benchmarks.evidence import store

CONNECTIONS = 50
RATE = 5000
UNREACHED = 1_000_000
"""A rate that no generator reaches here, so that wrk2 sends as fast as it can."""
LATENESS_RUNS = 5
LATE = ("p50", "p99", "max")
BODY = "x" * 1000
K6 = """
import http from 'k6/http';
const body = {body};
export const options = {{ {options}, discardResponseBodies: true, insecureSkipTLSVerify: true }};
export default function () {{ body ? http.post('{url}', body) : http.get('{url}'); }}
"""
POST = 'wrk.method = "POST"; wrk.body = string.rep("x", 1000)'


@dataclass(frozen=True)
class Case:
    """What a round puts on the wire: where to, for how long, with which body, and at which rate (None: closed)."""

    url: str
    seconds: int
    folder: Path
    post: bool = False
    rate: int | None = None

    def body_file(self) -> Path:
        """Return a file with the body to post."""
        file = self.folder / "body"
        file.write_text(BODY)
        return file


Measured = tuple[int, ProcessOutput]
"""Requests that were answered, and what the process took."""


def of_wrk(output: str) -> int:
    """Read the number of answers with a good status from what wrk or wrk2 says."""
    found, bad = re.search(r"(\d+) requests in", output), re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    return (int(found[1]) if found else 0) - (int(bad[1]) if bad else 0)


def wrk_flags(case: Case) -> list[str]:
    script = case.folder / "post.lua"
    script.write_text(POST)
    posting = ["-s", str(script)] if case.post else []
    return ["-t1", f"-c{CONNECTIONS}", f"-d{case.seconds}s", *posting, case.url]


def wrk(case: Case) -> Measured:
    ran = run([tool("wrk") or "wrk", *wrk_flags(case)], case.folder)
    return of_wrk(ran.output), ran


def wrk2(case: Case) -> Measured:
    ran = run([tool("wrk2") or "wrk2", f"-R{case.rate or UNREACHED}", *wrk_flags(case)], case.folder)
    return of_wrk(ran.output), ran


def h2load(case: Case) -> Measured:
    flags = ["--h1", "-t1", f"-c{CONNECTIONS}", f"-D{case.seconds}"]
    flags += ["-d", str(case.body_file())] if case.post else []
    flags += [f"--rps={case.rate / CONNECTIONS:g}"] if case.rate else []
    ran = run([tool("h2load") or "h2load", *flags, case.url], case.folder)
    found = re.search(r"status codes: (\d+) 2xx", ran.output)
    return int(found[1]) if found else 0, ran


def oha(case: Case) -> Measured:
    flags = ["--no-tui", "--output-format", "json", "--insecure", "-c", str(CONNECTIONS), "-z", f"{case.seconds}s"]
    flags += ["-m", "POST", "-D", str(case.body_file())] if case.post else []
    flags += ["-q", str(case.rate)] if case.rate else []
    ran = run([tool("oha") or "oha", *flags, case.url], case.folder)
    return sum(json.loads(ran.output)["statusCodeDistribution"].values()), ran


def k6(case: Case, *more: str) -> Measured:
    closed = f"vus: {CONNECTIONS}, duration: '{case.seconds}s'"
    arrivals = f"executor: 'constant-arrival-rate', rate: {case.rate}, timeUnit: '1s', duration: '{case.seconds}s'"
    users = f"preAllocatedVUs: {CONNECTIONS}, maxVUs: {CONNECTIONS}"
    options = f"scenarios: {{ open: {{ {arrivals}, {users} }} }}" if case.rate else closed
    script = K6.format(options=options, url=case.url, body=json.dumps(BODY if case.post else ""))
    (case.folder / "script.js").write_text(script)
    flags = ["run", "--quiet", "--no-usage-report", "--summary-export", "summary-k6.json", *more, "script.js"]
    ran = run([tool("k6") or "k6", *flags], case.folder)
    metrics = json.loads((case.folder / "summary-k6.json").read_text())["metrics"]
    return int(metrics["http_reqs"]["count"] - metrics["http_req_failed"].get("passes", 0)), ran


def k6_with_log(case: Case) -> Measured:
    return k6(case, "--out", "csv=k6.csv")


def engine(case: Case, log: bool = True) -> Measured:
    arrivals = {"open": {"schedule": {"constant": {"rate": case.rate}}, "max_in_flight": CONNECTIONS}}
    workload = arrivals if case.rate else {"closed": {"users": CONNECTIONS}}
    step = {"method": "POST", "body": BODY} if case.post else {}
    tls = {"tls": {"verify": False}} if case.url.startswith("https") else {}
    reported = job(
        case.url, workload, step, duration_us=case.seconds * 1_000_000, log_attempts=log, priority=False, **tls
    )
    summary, ran = load(reported, case.folder)
    return int(summary["requests"] - summary["errors"]), ran


def engine_without_log(case: Case) -> Measured:
    return engine(case, log=False)


TOOLS: dict[str, Callable[[Case], Measured]] = {
    "wrk": wrk,
    "engine": engine,
    "engine, no log": engine_without_log,
    "wrk2": wrk2,
    "h2load": h2load,
    "oha": oha,
    "k6": k6,
    "k6, CSV log": k6_with_log,
}
OPEN, SECURE = f"open, {RATE:,}/s", "closed, TLS"
LEFT_OUT = {OPEN: ("wrk",), SECURE: ("wrk2",)}
"""wrk keeps no rate, and wrk2 hardly gets an answer over TLS 1.3."""


def there(name: str) -> bool:
    """Whether a generator is installed."""
    return name.startswith("engine") or tool(name.split(",", maxsplit=1)[0]) is not None


def compare(rounds: int, seconds: int) -> list[dict[str, Any]]:
    """Visit every case with every generator once per round."""
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary), certificate(Path(temporary))) as urls:
        plain, secure = urls
        cases: dict[str, tuple[str, dict[str, Any]]] = {
            "closed, 25 bytes": (plain, {}),
            "closed, POST and answer of 1,000 bytes": (f"{plain}large", {"post": True}),
            SECURE: (secure, {}),
            OPEN: (plain, {"rate": RATE}),
        }
        for number in range(rounds):
            for name, (url, more) in cases.items():
                able = [each for each in TOOLS if there(each) and each not in LEFT_OUT.get(name, ())]
                for generator in able[number % len(able) :] + able[: number % len(able)]:
                    case = Case(url, seconds, Path(tempfile.mkdtemp(dir=temporary)), **more)
                    rows.append({"round": number, "case": name, **visit(generator, case)})
    return rows


def visit(generator: str, case: Case) -> dict[str, Any]:
    """Run one generator once."""
    requests, ran = TOOLS[generator](case)
    print(f"{generator}: {requests / ran.cpu:,.0f} requests per CPU-second", file=sys.stderr)
    return {"generator": generator, "requests": requests, "cpu_s": ran.cpu, "elapsed_s": ran.elapsed}


def certificate(folder: Path) -> tuple[Path, Path]:
    """Make its own certificate for 127.0.0.1; give it and its key."""
    made, key = folder / "certificate.pem", folder / "key.pem"
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:P-256",
        "-nodes",
        "-days",
        "2",
    ]
    command += ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    return made, key


def promises(requests: int) -> dict[str, Any]:
    """Measure memory, bytes per request, many connections, and lateness, each kind against its own nginx."""
    return {"long_run": long_run(requests), "many_connections": many_connections(), "punctuality": punctuality()}


def long_run(requests: int) -> dict[str, float]:
    workload = {"closed": {"users": CONNECTIONS, "until": {"calls": requests}}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as (url, _):
        summary, ran = load(job(url, workload, duration_us=3600_000_000), Path(temporary))
    generator = summary["generator"]
    return {
        "requests": summary["requests"],
        "peak_mib": ran.peak_kib / 1024,
        "bytes_per_request": generator["log_bytes"] / generator["log_rows"],
        "log_thread_percent": 100 * generator["log_cpu_s"] / summary["generator_cpu_s"],
    }


def many_connections() -> dict[str, float]:
    workload = {"closed": {"users": 10_000, "start_over_us": 1_000_000}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as (url, _):
        summary, _ = load(job(url, workload, duration_us=4_000_000), Path(temporary))
    return {"opened": summary["generator"]["connections"], "failed": summary["errors"], "requests": summary["requests"]}


def punctuality() -> list[dict[str, float]]:
    workload = {"open": {"schedule": {"constant": {"rate": 20_000}}, "max_in_flight": 2000}}
    with tempfile.TemporaryDirectory() as temporary, nginx(Path(temporary)) as (url, _):
        found = [load(job(url, workload, duration_us=3_000_000), Path(temporary))[0] for _ in range(LATENESS_RUNS)]
    return [{**punctual(one), "requests": one["requests"], "dropped": one["dropped"]} for one in found]


def punctual(summary: dict[str, Any]) -> dict[str, float]:
    """How late a run sent, in ms, and its share of one CPU."""
    late = {f"late_{name}_ms": summary["lateness_ms"][name] for name in LATE}
    return {**late, "cpu_share": summary["generator"]["cpu_share"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=2)
    parser.add_argument("--requests", type=int, default=10_000_000, help="of the run that looks at memory")
    parser.add_argument("--only", choices=["compare", "promises"])
    parser.add_argument("--out", type=Path, help="folder for the raw results [default: the committed one]")
    arguments = parser.parse_args()
    if arguments.only != "promises":
        rows = compare(arguments.rounds, arguments.seconds)
        options = {"rounds": arguments.rounds, "seconds": arguments.seconds}
        absent = [name for name in TOOLS if not there(name)]
        reported(COMPARE, options, arguments.out, absent=absent, rounds=rows)
    if arguments.only != "compare":
        reported(PROMISES, {"requests": arguments.requests}, arguments.out, **promises(arguments.requests))


def reported(part: str, options: dict[str, Any], out: Path | None, **measured: Any) -> None:
    """Store and print a part."""
    file = out / f"{part.split('/')[1]}.json" if out else None
    print(printed(part, store(part, options, file, **measured)))


if __name__ == "__main__":
    main()
